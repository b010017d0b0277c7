package experiment_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// logLine is a line of a trial's log in the API.
type logLine struct {
	Message, Level, Source string
	Timestamp              time.Time
}

// logReading is one selection of lines, as options of `det trial logs`, as options of `det-deploy
// trial logs`, and as arguments of the SDK. Own is nil if det-deploy has no such option.
type logReading struct {
	name         string
	options, own []string
	sdk          map[string]any
	selected     []logLine
}

func (l *lab) logReadings(all []logLine) []logReading {
	l.t.Helper()
	where := func(matches func(logLine) bool) (out []logLine) {
		for _, line := range all {
			if matches(line) {
				out = append(out, line)
			}
		}
		return out
	}
	middle := all[len(all)/2].Timestamp
	text := middle.Format(time.RFC3339Nano)
	return []logReading{
		{"all", nil, []string{}, map[string]any{}, all},
		{"the first", []string{"--head", "3"}, []string{"--head", "3"}, map[string]any{"head": 3}, all[:3]},
		{"the last", []string{"--tail", "3"}, []string{"--tail", "3"}, map[string]any{"tail": 3}, all[len(all)-3:]},
		{"more than there are", []string{"--tail", "5000"}, []string{"--tail", "5000"}, map[string]any{"tail": 5000}, all},
		{"followed", []string{"--follow"}, []string{"--follow"}, map[string]any{"follow": true}, all},
		{
			"since",
			[]string{"--timestamp-after", text},
			[]string{"--since", text},
			map[string]any{"timestamp_after": text},
			where(func(line logLine) bool { return line.Timestamp.After(middle) }),
		},
		{
			"until",
			[]string{"--timestamp-before", text},
			nil,
			map[string]any{"timestamp_before": text},
			where(func(line logLine) bool { return line.Timestamp.Before(middle) }),
		},
		{
			"of a level",
			[]string{"--level", "ERROR"},
			[]string{"--level", "error"},
			map[string]any{"min_level": "ERROR"},
			where(func(line logLine) bool { return line.Level == "LOG_LEVEL_ERROR" || line.Level == "LOG_LEVEL_CRITICAL" }),
		},
		{
			"of a source, the last",
			[]string{"--source", "master", "--tail", "2"},
			[]string{"--source", "master", "--tail", "2"},
			map[string]any{"sources": []string{"master"}, "tail": 2},
			last(2, where(func(line logLine) bool { return line.Source == "master" })),
		},
	}
}

func last(n int, lines []logLine) []logLine { return lines[max(0, len(lines)-n):] }

func messages(lines []logLine) string {
	var out strings.Builder
	for _, line := range lines {
		out.WriteString(line.Message)
	}
	return out.String()
}

// checkLogReadings compares readings of an ended trial's log by the client, by its SDK and by
// det-deploy with the whole log.
func (l *lab) checkLogReadings(t *testing.T, trial string) {
	t.Helper()
	var all []logLine
	l.stream("trials/"+trial+"/logs", func(line []byte) {
		var got struct{ Result logLine }
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatal(err)
		}
		all = append(all, got.Result)
	})
	readings := l.logReadings(all)
	var given bytes.Buffer
	to := json.NewEncoder(&given)
	for _, r := range readings {
		if err := to.Encode(r.sdk); err != nil {
			t.Fatal(err)
		}
		out := l.det.OK("", append([]string{"trial", "logs", trial}, r.options...)...)
		if want := messages(r.selected); !strings.HasPrefix(out, want) || strings.Contains(strings.TrimPrefix(out, want), "||") {
			t.Errorf("%s, with the client: got\n%s\nwant\n%s", r.name, out, want)
		}
		if r.own == nil {
			continue
		}
		if out, want := l.Run(append([]string{"trial", "logs", trial}, r.own...)...), messages(r.selected); out != want {
			t.Errorf("%s, with det-deploy: got\n%s\nwant\n%s", r.name, out, want)
		}
	}
	sdk := l.det.Python("testdata/readings.py", trial)
	var warnings bytes.Buffer
	sdk.Stdin, sdk.Stderr = &given, &warnings
	out, err := sdk.Output()
	if err != nil {
		t.Fatalf("read with the SDK: %v\n%s%s", err, out, &warnings)
	}
	from := json.NewDecoder(bytes.NewReader(out))
	for _, r := range readings {
		var got string
		if err := from.Decode(&got); err != nil {
			t.Fatalf("%s, with the SDK: %v in %s", r.name, err, out)
		}
		if want := messages(r.selected); got != want {
			t.Errorf("%s, with the SDK: got\n%s\nwant\n%s", r.name, got, want)
		}
	}
}
