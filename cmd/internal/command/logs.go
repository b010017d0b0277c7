package command

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// LogOptions holds the options of a command that shows logs.
type LogOptions struct {
	Remote
	client.LogQuery

	since, level string
}

// AddLogFlags adds the flags of a log command. of is the object whose end ends --follow.
func (o *LogOptions) AddLogFlags(c *cobra.Command, of string) {
	f := c.Flags()
	f.BoolVarP(&o.Follow, "follow", "f", false, "follow the log until the "+of+" has ended")
	f.IntVar(&o.Tail, "tail", 0, "number of last lines to show (default all)")
	f.IntVar(&o.Head, "head", 0, "number of first lines to show (default all)")
	f.StringVar(&o.since, "since", "", "show lines since a duration such as 10m or 1d, a date, or a time such as 2006-01-02T15:04:05Z")
	f.StringSliceVar(&o.Agents, "agent", nil, "show only lines from these agents")
	f.StringSliceVar(&o.Containers, "container", nil, "show only lines from these containers")
	f.IntSliceVar(&o.Ranks, "rank", nil, "show only lines of these ranks")
	f.StringVar(&o.level, "level", "", "show only lines of this level or above: trace, debug, info, warning, error or critical")
	f.StringSliceVar(&o.Sources, "source", nil, "show only lines from these sources, such as agent or task")
	f.StringSliceVar(&o.Stdtypes, "stream", nil, "show only lines from these streams: stdout or stderr")
	o.CompleteFlag(c, "agent", client.Agents)
	CompleteWords(c, "level", "trace", "debug", "info", "warning", "error", "critical")
	CompleteWords(c, "stream", "stdout", "stderr")
}

// Validate checks the flags and parses --since and --level.
func (o *LogOptions) Validate() error {
	switch {
	case o.Tail < 0 || o.Head < 0:
		return usage.Errorf("--tail and --head: must be positive")
	case o.Tail > 0 && o.Head > 0:
		return usage.Errorf("use either --tail or --head")
	case o.Follow && (o.Tail > 0 || o.Head > 0):
		return usage.Errorf("--follow shows all lines: omit --tail and --head, or use --since")
	}
	var err error
	if o.Level, err = parseLevel(o.level); err != nil {
		return err
	}
	o.Since, err = usage.Since(o.since, time.Now())
	return err
}

// parseLevel parses the name of a log level.
func parseLevel(text string) (apiv1.LogLevel, error) {
	if text == "" {
		return apiv1.LogLevel_LOG_LEVEL_UNSPECIFIED, nil
	}
	level := apiv1.LogLevel(apiv1.LogLevel_value["LOG_LEVEL_"+strings.ToUpper(text)])
	if level == apiv1.LogLevel_LOG_LEVEL_UNSPECIFIED {
		return level, usage.Errorf("--level: must be trace, debug, info, warning, error or critical (is %q)", text)
	}
	return level, nil
}

// LogLine is a log line of a task or trial.
type LogLine interface {
	proto.Message
	GetMessage() string
	GetLog() string
	GetContainerId() string
	GetStdtype() string
	GetPartial() bool
}

// PrintLog prints the lines of a log. If they are written to a file, it shows the progress.
func PrintLog[L LogLine](ctx context.Context, o *Local, lines iter.Seq2[L, error]) error {
	out := o.ForeignOut()
	message := func(l L) L { return l }
	if o.OutIsFile() {
		meter, done := o.NewMeter("Reading the log"), int64(0)
		defer meter.Clear()
		message = func(l L) L {
			done += int64(len(l.GetMessage()))
			meter.Set(done, 0)
			return l
		}
	}
	err := AnswerStream(ctx, o, lines, message, func(l L) error { return printLogLine(out, l) })
	return errors.Join(err, out.End())
}

// printLogLine prints a line after the prefix that the master has added to it. For multi-line text, which
// only programs inside the task send, the prefix cannot be separated from the text.
func printLogLine(out *term.ForeignLines, line LogLine) error {
	text := strings.TrimSuffix(line.GetLog(), "\n") + "\n"
	head, found := strings.CutSuffix(line.GetMessage(), text)
	if !found {
		head, text = line.GetMessage(), ""
	}
	return out.Print(line.GetContainerId()+" "+line.GetStdtype(), head, text, line.GetPartial() && found)
}
