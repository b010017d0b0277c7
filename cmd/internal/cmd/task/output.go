package task

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// shown holds the flags of `task run` about its output.
type shown struct {
	Quiet      bool
	Timestamps bool
	Prefix     bool
}

func (w *shown) addShownFlags(f *pflag.FlagSet) {
	f.BoolVarP(&w.Quiet, "quiet", "q", false, "print only the output of the program and errors")
	f.BoolVar(&w.Timestamps, "timestamps", false, "begin each line with its time")
	f.BoolVar(&w.Prefix, "prefix", false, "begin each line with the rank of the process")
}

// checkShown returns an error for a flag without an effect. Unattended reports that the command does not
// show the task's output.
func (w *shown) checkShown(unattended bool) error {
	if unattended && (w.Timestamps || w.Prefix) {
		return usage.Errorf("--timestamps and --prefix: require the output, which --detach, --array and --dry-run do not show; use task logs")
	}
	return nil
}

// masterSource is the source of the master's own lines in a log.
const masterSource = "master"

// taskOutput prints what the programs of a task write.
type taskOutput struct {
	*shown

	out, err *term.ForeignLines
}

func (w *shown) newOutput(s *term.Streams) *taskOutput {
	return &taskOutput{shown: w, out: s.ForeignOut(), err: s.ForeignErr()}
}

// printLine prints a line of the program to the stream that the program wrote it to.
func (w *taskOutput) printLine(line *apiv1.TaskLogsResponse) error {
	to, program, text := w.out, line.GetContainerId(), line.GetLog()
	if line.GetStdtype() == "stderr" {
		to = w.err
	}
	// The master has cut rank and level from the text.
	if level := line.GetLevel(); level != apiv1.LogLevel_LOG_LEVEL_UNSPECIFIED {
		text = strings.TrimPrefix(level.String(), "LOG_LEVEL_") + ": " + text
	}
	if line.RankId != nil && (!w.Prefix || to.Continues(program)) {
		text = fmt.Sprintf("[rank=%d] %s", line.GetRankId(), text)
	}
	return to.Print(program, w.headOf(line), text, line.GetPartial())
}

// endLines ends lines without an end before det-deploy writes to the terminal.
func (w *taskOutput) endLines() error {
	return errors.Join(w.out.EndOnTerminal(), w.err.EndOnTerminal())
}

// headOf returns the beginning of a line that the flags select.
func (w *shown) headOf(line *apiv1.TaskLogsResponse) string {
	var b strings.Builder
	if w.Timestamps {
		b.WriteString(line.GetTimestamp().AsTime().UTC().Format(time.RFC3339Nano) + " ")
	}
	if w.Prefix {
		fmt.Fprintf(&b, "[rank=%d] ", line.GetRankId())
	}
	return b.String()
}

// tellWords prints a line of the master about the task, if it says more than the live line and the outcome.
func (w *shown) tellWords(s *term.Streams, line *apiv1.TaskLogsResponse, lives bool) {
	level := line.GetLevel()
	switch {
	case w.Quiet, level >= apiv1.LogLevel_LOG_LEVEL_ERROR, lives && level < apiv1.LogLevel_LOG_LEVEL_WARNING:
	default:
		s.Notef("%s", term.Harmless(line.GetLog()))
	}
}
