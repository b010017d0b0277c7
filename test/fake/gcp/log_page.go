package gcptest

import (
	"slices"
	"strings"

	"google.golang.org/api/logging/v2"
)

func sortEntries(items []any, latestFirst bool) {
	slices.SortStableFunc(items, func(a, b any) int {
		n := strings.Compare(read[string](a, "Timestamp"), read[string](b, "Timestamp"))
		if latestFirst {
			return -n
		}
		return n
	})
}

// entryPage returns a page of entries. The page token and size are in the body.
// https://cloud.google.com/logging/docs/reference/v2/rest/v2/entries/list
func (c *call) entryPage(items []any, in *logging.ListLogEntriesRequest) (any, error) {
	start, err := readToken(in.PageToken)
	if err != nil || start > len(items) {
		return nil, invalid("The page token is not valid.")
	}
	size := c.opt.Page
	if in.PageSize > 0 {
		size = min(size, int(in.PageSize))
	}
	end := min(start+size, len(items))
	out := map[string]any{}
	if end > start {
		out["entries"] = items[start:end]
	}
	if end < len(items) {
		out["nextPageToken"] = writeToken(end)
	}
	return out, nil
}
