package logview

import (
	"net/url"
	"regexp"
	"strconv"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Filter is the part of a log that the parameters of an address select.
type Filter struct {
	// Search is a text in the lines; with Regexp it is a regular expression.
	Search string
	Regexp bool
	// Level is the lowest level, such as "WARNING", or empty.
	Level string
	// Stream is "stdout" or "stderr", or empty for both.
	Stream string
	// Rank is the number of a process, or empty for all.
	Rank string
	// Before is the ID of the line after those on the page, or empty for the last lines.
	Before string
}

// levels are the levels by which a page filters.
var levels = []string{"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}

// longestSearch is the maximum length of a search text in bytes, as in the API.
const longestSearch = 4 << 10

// ParseFilter reads the parameters of an address. It ignores values that no form sends.
func ParseFilter(q url.Values) Filter {
	f := Filter{Search: q.Get("search"), Regexp: q.Has("regexp")}
	if len(f.Search) > longestSearch {
		f.Search = ""
	}
	if level := q.Get("level"); levelOf(level) != apiv1.LogLevel_LOG_LEVEL_UNSPECIFIED {
		f.Level = level
	}
	if stream := q.Get("stream"); stream == "stdout" || stream == "stderr" {
		f.Stream = stream
	}
	if n, err := strconv.ParseInt(q.Get("rank"), 10, 32); err == nil && n >= 0 {
		f.Rank = strconv.FormatInt(n, 10)
	}
	f.Before = lineID(q.Get("before"))
	return f
}

// lineID returns text if it is the ID of a line behind the first one, and otherwise "".
func lineID(text string) string {
	if n, err := strconv.ParseInt(text, 10, 64); err != nil || n <= 0 {
		return ""
	}
	return text
}

func levelOf(name string) apiv1.LogLevel {
	return apiv1.LogLevel(apiv1.LogLevel_value["LOG_LEVEL_"+name])
}

// IsSet reports whether the filter leaves out lines.
func (f Filter) IsSet() bool {
	return f.Search != "" || f.Level != "" || f.Stream != "" || f.Rank != ""
}

// Query returns the query of the API.
func (f Filter) Query() client.LogQuery {
	q := client.LogQuery{Search: f.Search, Regexp: f.Regexp, Level: levelOf(f.Level), Before: f.Before}
	if f.Stream != "" {
		q.Stdtypes = []string{f.Stream}
	}
	if n, err := strconv.Atoi(f.Rank); err == nil {
		q.Ranks = []int{n}
	}
	return q
}

// matches returns the positions of the search text in a line.
func (f Filter) matches(line string) [][]int {
	if f.Search == "" {
		return nil
	}
	text := f.Search
	if !f.Regexp {
		text = regexp.QuoteMeta(text)
	}
	re, err := regexp.Compile("(?i)" + text)
	if err != nil { // the API has refused it
		return nil
	}
	return re.FindAllStringIndex(line, mostMatches)
}

// mostMatches is the number of matches of a line that are marked.
const mostMatches = 100

func (f Filter) parameters() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"search": f.Search, "level": f.Level, "stream": f.Stream, "rank": f.Rank} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Regexp {
		q.Set("regexp", "on")
	}
	return q
}

// address returns the address of a page with the filter, with the lines before one.
func (f Filter) address(path, before string) string {
	q := f.parameters()
	if before != "" {
		q.Set("before", before)
	}
	return join(path, q)
}

// streamAddress returns the address of the lines after one.
func (f Filter) streamAddress(path, after string) string {
	q := f.parameters()
	if after != "" {
		q.Set("after", after)
	}
	return join(path, q)
}

func join(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
