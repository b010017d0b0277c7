package preview

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// mostPoints limits the number of points in a file.
const mostPoints = 1_000_000

// ReadCurves reads recorded trials from CSV. The header must contain `trial`, the time metric and
// the metric. The rows of a trial must be in the order of their times. Trials are returned in the
// order of their first row. It returns an error if the file has more than mostPoints points.
func ReadCurves(r io.Reader, c search.Config) ([]search.Curve, error) {
	rows := csv.NewReader(r)
	header, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("read curves: the first line must name the columns: %w", err)
	}
	var at [3]int
	for i, name := range []string{"trial", c.TimeMetric, c.Metric} {
		if at[i] = slices.Index(header, name); at[i] < 0 || name == "" {
			return nil, fmt.Errorf("read curves: the header has no column %q (is %q)", name, header)
		}
	}
	curves := curveSet{index: map[string]int{}}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return curves.list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read curves: %w", err)
		}
		line, _ := rows.FieldPos(0)
		if err := curves.add(row[at[0]], row[at[1]], row[at[2]]); err != nil {
			return nil, fmt.Errorf("read curves: line %d: %w", line, err)
		}
	}
}

type curveSet struct {
	list   []search.Curve
	index  map[string]int
	points int
}

func (s *curveSet) add(trial, time, metric string) error {
	t, err := strconv.ParseFloat(time, 64)
	if err != nil || math.IsNaN(t) {
		return fmt.Errorf("the time %.32q is not a number", time)
	}
	m, err := strconv.ParseFloat(metric, 64)
	if err != nil {
		return fmt.Errorf("the metric %.32q is not a number", metric)
	}
	if s.points++; s.points > mostPoints {
		return fmt.Errorf("more than %d points", mostPoints)
	}
	i, known := s.index[trial]
	if !known {
		i = len(s.list)
		s.index[trial] = i
		s.list = append(s.list, nil)
	}
	s.list[i] = append(s.list[i], search.Point{Time: search.Number(t), Metric: search.Number(m)})
	return nil
}
