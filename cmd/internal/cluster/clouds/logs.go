package clouds

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// LogsHelp returns the help of logs. logs is the log service ("CloudWatch") and machine an example of a
// machine's name.
func LogsHelp(w Words, logs, machine string) cluster.Help {
	return cluster.Help{
		Use: "logs [master|agent|host|data|journal]",
		Long: `Show the logs of a cluster on ` + w.On + `, collected in ` + logs + `: those of
the master, the agents, machine setup (host), the data volume, the remaining journal,
or all of them, oldest line first. For the logs of a task, see det-deploy task logs.`,
		Example: "  det-deploy " + w.Name + " logs --cluster-id lab master --follow\n" +
			"  det-deploy " + w.Name + " logs --cluster-id lab agent --since 1h --instance " + machine,
		Args: cobra.MaximumNArgs(1),
	}
}

// LogQuery selects log lines.
type LogQuery struct {
	// Part is the requested log, such as "master", "agent" or "journal"; empty selects all.
	Part   string
	Since  string
	Query  wire.MachineLogQuery
	Output term.Format
}

// AddLogFlags declares the flags of logs.
func (q *LogQuery) AddLogFlags(f *pflag.FlagSet) {
	f.StringVar(&q.Query.Instance, "instance", "", "show only lines of this machine")
	f.StringVar(&q.Since, "since", "", "show lines since a duration such as 10m or 1d, a date, or a time such as 2006-01-02T15:04:05Z (default 1h)")
	cluster.AddFollow(f, &q.Query.Follow)
	q.Output.AddFlag(f)
}

// ReadLogArgs parses the argument and --since.
func (q *LogQuery) ReadLogArgs(args []string) (err error) {
	var found bool
	q.Part = strings.Join(args, "")
	if q.Query.Unit, found = logUnits()[q.Part]; !found {
		return usage.Errorf("unknown log %q; choose master, agent, host, data or journal", q.Part)
	}
	q.Query.Since, err = defaultSince(q.Since, time.Now())
	return err
}

// logUnits maps the argument of logs to the log stream of a machine.
func logUnits() map[string]string {
	return map[string]string{
		"": "", "master": "det-deploy-master", "agent": "det-deploy-agent", "host": "det-deploy-host",
		"data": "det-deploy-data", "journal": "journal",
	}
}

// defaultSince defaults to one hour ago, because the log of a cluster can span months.
func defaultSince(text string, now time.Time) (time.Time, error) {
	return usage.Since(cmp.Or(text, "1h"), now)
}

// line is the JSON output of a log line, one object per line.
type line struct {
	Schema string `json:"schema"`

	wire.MachineLog
}

// PrintLog prints a log line.
func (q *LogQuery) PrintLog(s *term.Streams, platform string, l wire.MachineLog) {
	who := l.Instance
	if q.Part == "" {
		who = fmt.Sprintf("%s/%s", l.Instance, strings.TrimPrefix(l.Unit, "det-deploy-"))
	}
	text := fmt.Sprintf("%s %s | %s", l.Time.Format("2006-01-02T15:04:05Z"), who, l.Message)
	cluster.PrintLine(s, q.Output, line{"det-deploy." + platform + "-log/v1", l}, text)
}
