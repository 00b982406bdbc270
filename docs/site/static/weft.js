// A page that was opened as a file may not fetch others, so the search then shows titles without their first lines.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
