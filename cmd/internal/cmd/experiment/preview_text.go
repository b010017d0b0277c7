package experiment

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/experiment/preview"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// printPreview prints the totals, followed by tables of the groups, the first trials and the simulation.
func (o *previewOptions) printPreview(a previewed) error {
	p := a.Preview
	pairs := [][2]string{
		{"Trials", fmt.Sprintf("%d, %d concurrently", p.Trials, p.Concurrent)},
		{"Slots", fmt.Sprintf("%d per trial, %d concurrently", p.SlotsPerTrial, p.Slots)},
	}
	pairs = append(pairs, describeUsage("Expected", p.Expected)...)
	pairs = append(pairs, describeUsage("At most", p.AtMost)...)
	for _, w := range p.Waits {
		pairs = append(pairs, [2]string{"Waits", w})
	}
	for _, w := range a.Warnings {
		pairs = append(pairs, [2]string{"Warning", w})
	}
	if err := o.PrintPairs(pairs...); err != nil {
		return err
	}
	return o.printTables(groupTable(p.Groups), firstTable(p.First), simulationTable(a.Simulation))
}

// printTables prints the non-empty tables, each after an empty line.
func (o *previewOptions) printTables(tables ...*term.Table) error {
	for _, t := range tables {
		if t == nil || t.Len() == 0 {
			continue
		}
		o.Printf("")
		if err := o.PrintTable(t); err != nil {
			return err
		}
	}
	return nil
}

func describeUsage(name string, u *preview.Usage) [][2]string {
	if u == nil {
		return nil
	}
	text := fmt.Sprintf("%.1f slot-hours", u.SlotHours)
	if u.Cost != nil {
		text += fmt.Sprintf(", %.2f %s", *u.Cost, u.Currency)
	}
	return [][2]string{{name, text}}
}

func groupTable(groups []search.Group) *term.Table {
	t := term.NewTable(">TRIALS", "TRAIN FOR")
	for _, g := range groups {
		length := "until the program ends"
		if g.Units > 0 {
			length = fmt.Sprintf("%d %s", g.Units, g.Unit)
		}
		t.Row(g.Trials, length)
	}
	return t
}

func firstTable(first []search.NewTrial) *term.Table {
	t := term.NewTable(">TRIAL", "HYPERPARAMETERS")
	for i, c := range first {
		values, _ := json.Marshal(c.Values) // the values can always be encoded
		t.Row(i+1, string(values))
	}
	return t
}

// simulationTable returns a table of the simulated trials, or nil without a simulation.
func simulationTable(s *search.Simulation) *term.Table {
	if s == nil {
		return nil
	}
	t := term.NewTable(">TRIAL", ">REACHED", ">BEST", "END")
	for _, v := range s.Trials {
		end := "ran to completion"
		if v.Stopped {
			end = "stopped by the search"
		}
		t.Row(strconv.Itoa(v.Trial), v.Reached, v.Best, end)
	}
	return t
}
