package gcptest

import (
	"encoding/json"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/api/logging/v2"
)

// logs is Cloud Logging: the entries of all projects, in the order of arrival.
type logs struct {
	entries []*logging.LogEntry
}

func logActs() map[string]act {
	return map[string]act{
		"logging.entries.write":        writeEntries,
		"logging.entries.list":         listEntries,
		"logging.projects.logs.list":   listLogs,
		"logging.projects.logs.delete": deleteLog,
	}
}

// logName parses "projects/p/logs/l", whose last segment is escaped.
// https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry
func (c *call) logName(name string) (string, error) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 || parts[0] != "projects" || parts[2] != "logs" || parts[3] == "" {
		return "", invalid("The log name %q is not of the form projects/[PROJECT_ID]/logs/[LOG_ID].", name)
	}
	if c.findProject(parts[1]) == nil {
		return "", refuse(404, "notFound", "The project %s was not found.", parts[1])
	}
	return name, nil
}

// writeEntries completes entries with the defaults of the request. Without partialSuccess, it
// writes all entries or none.
// https://cloud.google.com/logging/docs/reference/v2/rest/v2/entries/write
func writeEntries(c *call) (any, error) {
	in := decode[logging.WriteLogEntriesRequest](c)
	if len(in.Entries) > 1000 || len(c.body) > 10<<20 {
		return nil, invalid("A request takes at most 1000 entries and 10 MB.")
	}
	for _, e := range in.Entries {
		e.LogName = orElse(e.LogName, in.LogName)
		if _, err := c.logName(e.LogName); err != nil {
			return nil, err
		}
		if e.Resource == nil {
			e.Resource = in.Resource
		}
		if e.Resource == nil {
			return nil, invalid("The monitored resource is missing.")
		}
		e.Labels = mergeLabels(in.Labels, e.Labels)
		e.ReceiveTimestamp = c.now().Format(time.RFC3339Nano)
		e.Timestamp, e.Severity = orElse(e.Timestamp, e.ReceiveTimestamp), orElse(e.Severity, "DEFAULT")
	}
	accepted, err := checkEntrySizes(in)
	if !in.DryRun && (err == nil || in.PartialSuccess) {
		c.addEntries(accepted)
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{}, nil
}

// maxEntry is the maximum size of an entry.
const maxEntry = 256 << 10

// checkEntrySizes returns the entries within the size limit. With partialSuccess, the error lists
// the others. https://cloud.google.com/logging/quotas
func checkEntrySizes(in *logging.WriteLogEntriesRequest) (accepted []*logging.LogEntry, err error) {
	each := make(map[string]any)
	for i, e := range in.Entries {
		text, err := json.Marshal(e)
		if err != nil || len(text) > maxEntry {
			each[strconv.Itoa(i)] = map[string]any{"code": 3, "message": "Log entry with size " + strconv.Itoa(len(text)) + " exceeds maximum size of " + strconv.Itoa(maxEntry)}
			continue
		}
		accepted = append(accepted, e)
	}
	if len(each) == 0 {
		return accepted, nil
	}
	r := invalid("Log entry exceeds maximum size of %d.", maxEntry)
	if in.PartialSuccess && len(accepted) > 0 {
		r.details = []any{map[string]any{"@type": "type.googleapis.com/google.logging.v2.WriteLogEntriesPartialErrors", "logEntryErrors": each}}
	}
	return accepted, r
}

// mergeLabels returns the labels of an entry merged with those of the request.
// https://cloud.google.com/logging/docs/reference/v2/rest/v2/entries/write
func mergeLabels(common, own map[string]string) map[string]string {
	out := make(map[string]string)
	maps.Copy(out, common)
	maps.Copy(out, own)
	return out
}

// addEntries adds entries and drops duplicates with the same log, timestamp and insertId.
func (c *call) addEntries(entries []*logging.LogEntry) {
	type identity struct{ log, time, id string }
	seen := make(map[identity]bool)
	for _, e := range c.logs.entries {
		seen[identity{e.LogName, e.Timestamp, e.InsertId}] = true
	}
	for _, e := range entries {
		if e.InsertId == "" {
			e.InsertId = decimal64(c.nextID())
		}
		if key := (identity{e.LogName, e.Timestamp, e.InsertId}); !seen[key] {
			seen[key] = true
			c.logs.entries = append(c.logs.entries, e)
		}
	}
}

// listEntries returns the oldest entries first by default.
// https://cloud.google.com/logging/docs/reference/v2/rest/v2/entries/list
func listEntries(c *call) (any, error) {
	in := decode[logging.ListLogEntriesRequest](c)
	match := func(map[string]any) bool { return true }
	if in.Filter != "" && !c.opt.IgnoreFilters {
		var err error
		if match, err = parseFilter(in.Filter); err != nil {
			return nil, invalid("Unparseable filter: %v", err)
		}
	}
	var items []any
	for _, e := range c.logs.entries {
		for _, name := range in.ResourceNames {
			if p := c.findProject(strings.TrimPrefix(name, "projects/")); p != nil && strings.HasPrefix(e.LogName, "projects/"+p.id+"/") && match(asMap(e)) {
				items = append(items, e)
				break
			}
		}
	}
	sortEntries(items, in.OrderBy == "timestamp desc")
	return c.entryPage(items, in)
}

// listLogs: https://cloud.google.com/logging/docs/reference/v2/rest/v2/projects.logs/list
func listLogs(c *call) (any, error) {
	names := make(map[string]bool)
	for _, e := range c.logs.entries {
		if strings.HasPrefix(e.LogName, "projects/"+c.projectID()+"/") {
			names[e.LogName] = true
		}
	}
	var items []any
	for _, name := range sortedKeys(names) {
		items = append(items, name)
	}
	start, err := readToken(c.query.Get("pageToken"))
	if err != nil || start > len(items) {
		return nil, invalid("The page token is not valid.")
	}
	out := map[string]any{"logNames": items[start:min(start+c.opt.Page, len(items))]}
	if start+c.opt.Page < len(items) {
		out["nextPageToken"] = writeToken(start + c.opt.Page)
	}
	return out, nil
}

// deleteLog deletes all entries of a log. It returns an error if there are no entries.
// https://cloud.google.com/logging/docs/reference/v2/rest/v2/logs/delete
func deleteLog(c *call) (any, error) {
	name := "projects/" + c.projectID() + "/logs/" + url.PathEscape(c.params["logsId"])
	var left []*logging.LogEntry
	for _, e := range c.logs.entries {
		if e.LogName != name {
			left = append(left, e)
		}
	}
	if len(left) == len(c.logs.entries) {
		return nil, refuse(404, "notFound", "Log %s does not exist.", name)
	}
	c.logs.entries = left
	return map[string]any{}, nil
}

// LogEntries returns the entries of a log in the order of arrival.
func (w *World) LogEntries(log string) []*logging.LogEntry {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*logging.LogEntry
	for _, e := range w.logs.entries {
		if e.LogName == log {
			out = append(out, clone(e))
		}
	}
	return out
}
