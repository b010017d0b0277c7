package hostile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// shippedLine is a line of a task's log in the API.
type shippedLine struct {
	Message, Log, Level, Timestamp, Stdtype, Source, AgentID string
	RankID                                                   *int
}

// forgedLines are outputs of a task that imitate other log lines. Each contains MARK.
var forgedLines = map[string]string{
	"in the form of a line":           `[2020-01-01T00:00:00.000000Z] f6114bb3 [rank=7] || ERROR: MARK`,
	"in the master's form":            `[2020-01-01T00:00:00Z]          || ERROR: MARK resources failed`,
	"as JSON":                         `{"level":"LOG_LEVEL_ERROR","rankId":7,"rank_id":7,"timestamp":"2020-01-01T00:00:00Z","source":"master","stdtype":"stderr","log":"MARK"}`,
	"as a reply of the API":           `{"result":{"id":"1","level":"LOG_LEVEL_ERROR","rankId":7,"timestamp":"2020-01-01T00:00:00Z","log":"MARK"}}`,
	"as a line of slog":               `time=2020-01-01T00:00:00Z level=ERROR rank=7 source=master msg=MARK`,
	"behind a way back":               `x\r[2020-01-01T00:00:00.000000Z] f6114bb3 [rank=7] || ERROR: MARK`,
	"behind a cleared screen":         `\033[2J\033[H[2020-01-01T00:00:00.000000Z] f6114bb3 [rank=7] || ERROR: MARK`,
	"behind a NUL":                    `\000[rank=7] || ERROR: MARK`,
	"behind what separates lines":     `\342\200\250[rank=7] || ERROR: MARK`,
	"behind half a character":         `\303[rank=7] || ERROR: MARK`,
	"in the form of the task's shell": `rank=7\tstderr\tMARK`,
}

// forgeAttempts write to the attacker's own log, which others read.
func forgeAttempts() []attempt {
	var all []attempt
	for name, text := range forgedLines {
		all = append(all, attempt{
			name: "a task prints a line " + name, who: userTask, where: process, wants: "a line of a log that is not what it says", control: ships,
			try: func(ctx context.Context, w *world) outcome { return w.printsForged(ctx, text) },
		})
	}
	return append(all, attempt{
		name: "a task ships two lines as one", who: userTask, where: process, wants: "a line of a log that is not what it says", control: ships,
		try: func(ctx context.Context, w *world) outcome {
			l, err := w.ship(ctx, "two-lines\n[2020-01-01T00:00:00.000000Z] f6114bb3 [rank=7] || ERROR: forged")
			if err != nil {
				return isUntried(err)
			}
			return gained(strings.Contains(l.Message, "\n[2020"), "%+v", l)
		},
	})
}

// ships checks that a task can set the level and rank of its own lines through the API.
var ships = &control{"a task ships a line with a level and a rank", func(ctx context.Context, w *world) outcome {
	l, err := w.ship(ctx, "shipped")
	if err != nil {
		return isUntried(err)
	}
	return gained(l.Level == "LOG_LEVEL_ERROR" && l.RankID != nil && *l.RankID == 7, "%+v", l)
}}

// ship sends a line of mallory's task and returns it as the API has it.
func (w *world) ship(ctx context.Context, text string) (shippedLine, error) {
	body := document(map[string]any{"logs": []any{map[string]any{
		"taskId": w.names["mallory-task"], "allocationId": w.names["mallory-allocation"], "log": text, "level": "ERROR", "rankId": 7,
		"timestamp": time.Now().UTC().Format(time.RFC3339Nano),
	}}})
	c := call{"POST", "/api/v1/task/logs", body, allocating(w.tokens["mallory-allocation"])}
	if a, err := w.do(ctx, c); err != nil || !a.ok() {
		return shippedLine{}, fmt.Errorf("%s: %w", a, err)
	}
	return w.lineWith(ctx, w.names["mallory-task"], text)
}

// printsForged prints a text in a task and checks the attributes of the resulting log line.
func (w *world) printsForged(ctx context.Context, text string) outcome {
	began := time.Now().Add(-time.Minute)
	mark := "forged" + w.names["mark"]
	id, err := w.launch(ctx, "mallory", task{script: "printf '%b\\n' '" + strings.ReplaceAll(strings.ReplaceAll(text, "MARK", mark), `\0`, `\00`) + "'"})
	if err != nil {
		return isUntried(err)
	}
	l, err := w.lineWith(ctx, id, mark)
	if err != nil {
		return isUntried(err)
	}
	at, err := time.Parse(time.RFC3339Nano, l.Timestamp)
	if err != nil {
		return isUntried(err)
	}
	own := at.After(began) && l.Level != "LOG_LEVEL_ERROR" && (l.RankID == nil || *l.RankID == 0) && l.Stdtype == "stdout" && l.Source != "master" &&
		strings.HasPrefix(l.Message, "["+at.UTC().Format("2006-01-02T15:04:05"))
	return gained(!own, "%+v", l)
}

// lineWith waits for a line with a text in the log of a task of mallory.
func (w *world) lineWith(ctx context.Context, id, text string) (found shippedLine, err error) {
	there := w.awaits(ctx, func() bool {
		var a answer
		if a, err = w.do(ctx, call{"GET", "/api/v1/tasks/" + id + "/logs", "", bearing(w.tokens["mallory"])}); err != nil {
			return false
		}
		for line := range strings.Lines(string(a.body)) {
			var l struct{ Result shippedLine }
			if err = json.Unmarshal([]byte(line), &l); err == nil && strings.Contains(l.Result.Log, text) {
				found = l.Result
				return true
			}
		}
		return false
	})
	if !there && err == nil {
		err = fmt.Errorf("task %s has no line with %q: %w", id, text, context.DeadlineExceeded)
	}
	return found, err
}
