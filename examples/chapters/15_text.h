// The text of chapter 15: a tale in which much comes again, so that a small model can learn from it quickly.
#pragma once

#include <string>

inline const std::string tale =
    R"(in the house by the river there lived a weaver. every morning she sat down at the loom, and every morning the river ran by the window. the warp was red, and the weft was white. she threw the shuttle to the left, and she threw the shuttle to the right, and the cloth grew by the width of a thread.
one day a boy came to the house by the river. what do you make, said the boy. i make a cloth, said the weaver. what is it for, said the boy. it is for the miller, said the weaver, who wants a sack for his flour. and the boy sat down by the window and looked at the loom, and the shuttle went to the left, and the shuttle went to the right, and the river ran by.
the next day the boy came again. what do you make, said the boy. i make a cloth, said the weaver. what is it for, said the boy. it is for the sailor, said the weaver, who wants a sail for his boat. and the boy sat down by the window and looked at the loom. the warp was blue, and the weft was white, and the cloth grew by the width of a hand.
the third day the boy came in the rain. what do you make, said the boy. i make a cloth, said the weaver. what is it for, said the boy. it is for you, said the weaver, who came in the rain and wants a coat. and the boy laughed, and sat down at the loom, and threw the shuttle to the left.
not so hard, said the weaver. the thread is thin, and what is thin will break. and the boy threw the shuttle to the right, and the thread did not break, and the cloth grew by the width of a thread.
so the summer went by, and the river ran by the window. in the morning the boy sat at the loom, and in the evening the weaver sat at the loom, and they made a sack for the miller, and a sail for the sailor, and a coat for the boy. the warp was red, and the warp was blue, and the weft was always white.
when the winter came the river stood still. what do we make, said the boy. we make a cloth, said the weaver. what is it for, said the boy. it is for the river, said the weaver, who stands still and is cold. and they made a cloth as long as the river and as wide as the river, and they threw it over the ice, and the snow fell on the cloth, and nobody saw where the cloth ended and where the snow began.
in the spring the ice broke, and the river took the cloth and ran. it ran by the mill, and the miller saw it. it ran by the boats, and the sailor saw it. it ran to the sea, and the sea is wide, and it wears the cloth to this day: the warp is blue, and the weft is white.
)";
