package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type metricsOptions struct {
	command.Remote

	Group string
}

func newMetrics(s *term.Streams) *cobra.Command {
	o := &metricsOptions{Remote: command.Remote{Local: command.Local{Shows: true}, Names: client.Trials}}
	c := command.NewRemote(s, o, runMetrics, &cobra.Command{
		Use: "metrics TRIAL", Short: "Show the metrics of a trial",
		Long: `Show a summary of each metric of a trial or, with --group, each report of a group. The
groups are training, validation, and those named by programs.`,
		Example: "  det-deploy trial metrics 12\n  det-deploy trial metrics 12 --group validation --output json",
	})
	c.Flags().StringVar(&o.Group, "group", "", "group whose reports to show, such as validation")
	return c
}

func runMetrics(ctx context.Context, o *metricsOptions, master *client.Client) error {
	id, err := command.ReadNumber(noun, o.Args[0])
	if err != nil {
		return err
	}
	if o.Group == "" {
		m, err := master.Trial(ctx, id)
		if err != nil {
			return err
		}
		return o.AnswerTable(m.GetSummaryMetrics(), tabulateSummary(m.GetSummaryMetrics()))
	}
	reports, err := master.TrialMetrics(ctx, id, o.Group)
	if err != nil {
		return err
	}
	return o.AnswerTable(&apiv1.GetMetricsResponse{Metrics: reports}, tabulateReports(reports))
}

// tabulateSummary returns a table with a row per metric.
func tabulateSummary(summary *structpb.Struct) *term.Table {
	t := term.NewTable("GROUP", "METRIC", ">REPORTS", ">LAST", ">MIN", ">MAX", ">MEAN")
	for _, key := range slices.Sorted(maps.Keys(summary.GetFields())) {
		stats := summary.GetFields()[key].GetStructValue().GetFields()
		for _, name := range slices.Sorted(maps.Keys(stats)) {
			s := stats[name].GetStructValue().GetFields()
			t.Row(groupNamed(key), name, formatValue(s["count"]), formatValue(s["last"]), formatValue(s["min"]), formatValue(s["max"]), formatValue(s["mean"]))
		}
	}
	return t
}

// groupNamed returns the group for a key of the API.
func groupNamed(key string) string {
	switch key {
	case "avg_metrics":
		return "training"
	case "validation_metrics":
		return "validation"
	}
	return key
}

// tabulateReports returns a table with a row per report and a column per metric.
func tabulateReports(reports []*apiv1.MetricsReport) *term.Table {
	names := map[string]bool{}
	for _, r := range reports {
		for name := range averages(r) {
			names[name] = true
		}
	}
	columns := slices.Sorted(maps.Keys(names))
	heads := []string{">STEPS", "REPORTED"}
	for _, name := range columns {
		heads = append(heads, ">"+name)
	}
	t := term.NewTable(heads...)
	for _, r := range reports {
		row := []any{r.GetTotalBatches(), show.When(r.GetEndTime())}
		for _, name := range columns {
			row = append(row, formatValue(averages(r)[name]))
		}
		t.Row(row...)
	}
	return t
}

func averages(r *apiv1.MetricsReport) map[string]*structpb.Value {
	f := r.GetMetrics().GetFields()
	return cmp.Or(f["avg_metrics"], f["validation_metrics"]).GetStructValue().GetFields()
}

// formatValue formats a value for a table. It returns "" for a missing value.
func formatValue(v *structpb.Value) string {
	switch x := v.AsInterface().(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(x, 'g', 6, 64)
	case string:
		return x
	default:
		b, err := json.Marshal(x)
		if err != nil {
			return fmt.Sprintf("%v", x)
		}
		return string(b)
	}
}
