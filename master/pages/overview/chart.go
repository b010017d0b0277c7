package overview

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// chart shows the average number of slots in use by day and pool.
type chart struct {
	Series []series
	Bars   []bar
	// Top is the number of slots at the upper end of the axis.
	Top string
	// First and Last are the days at the ends of the axis.
	First, Last string
	Rows        []row
}

// series is a pool with the class of its color.
type series struct{ Name, Class string }

// bar is a part of a column, in the coordinates of the picture.
type bar struct {
	X, Y, Width, Height float64
	Class               string
}

// row is a day of the table.
type row struct {
	Day    string
	Values []string
}

const (
	// The picture has columns of columnWidth and a height of pictureHeight, and is stretched.
	columnWidth, gap, pictureHeight = 10, 2, 100
	// mostSeries is the number of colors. Other pools are one series.
	mostSeries = 6
	others     = "other pools"
)

// newChart returns the chart of days, the last of which is not over at now.
func newChart(days []*apiv1.ResourceAllocationAggregatedEntry, now time.Time) chart {
	slots := make([]map[string]float64, len(days))
	sums := map[string]float64{}
	for i, d := range days {
		slots[i] = slotsOf(d, now)
		for pool, n := range slots[i] {
			sums[pool] += n
		}
	}
	c, names := chart{}, shownPools(sums)
	for i, name := range names {
		c.Series = append(c.Series, series{name, "fill-" + strconv.Itoa(i+1)})
	}
	most := 0.0
	for i, d := range days {
		r, sum := row{Day: d.GetPeriodStart()}, 0.0
		for _, name := range names {
			n := valueOf(slots[i], name, names)
			sum += n
			r.Values = append(r.Values, strconv.FormatFloat(n, 'f', 2, 64))
		}
		most = math.Max(most, sum)
		c.Rows = append(c.Rows, r)
	}
	top := roundUp(most)
	c.Top = strconv.FormatFloat(top, 'f', -1, 64)
	for i := range days {
		y := float64(pictureHeight)
		for k, name := range names {
			height := pictureHeight * valueOf(slots[i], name, names) / top
			y -= height
			if height > 0 {
				c.Bars = append(c.Bars, bar{float64(i * columnWidth), round(y), columnWidth - gap, round(height), c.Series[k].Class})
			}
		}
	}
	if len(days) > 0 {
		c.First, c.Last = days[0].GetPeriodStart(), days[len(days)-1].GetPeriodStart()
	}
	return c
}

// slotsOf returns the average number of slots in use on a day until now.
func slotsOf(d *apiv1.ResourceAllocationAggregatedEntry, now time.Time) map[string]float64 {
	length := 24 * time.Hour
	if start, err := time.Parse(time.DateOnly, d.GetPeriodStart()); err == nil && now.Sub(start) < length {
		length = max(now.Sub(start), time.Second)
	}
	out := map[string]float64{}
	for pool, seconds := range d.GetByResourcePool() {
		out[pool] = seconds / length.Seconds()
	}
	return out
}

// shownPools returns the pools of the chart by name: those with the largest sums, and others.
func shownPools(sums map[string]float64) []string {
	var names []string
	for name, n := range sums {
		if n > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	if len(names) > mostSeries {
		names = append(names[:mostSeries-1], others)
		slices.Sort(names[:mostSeries-1])
		return names
	}
	slices.Sort(names)
	return names
}

// valueOf returns the slots of a shown pool on a day. The others have those of all pools that are not shown.
func valueOf(slots map[string]float64, name string, shown []string) float64 {
	if n, found := slots[name]; found || name != others {
		return n
	}
	sum := 0.0
	for pool, n := range slots {
		if !slices.Contains(shown, pool) {
			sum += n
		}
	}
	return sum
}

// roundUp returns the next number with one digit of 1, 2 or 5, and at least 1.
func roundUp(n float64) float64 {
	if n <= 1 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(n)))
	for _, digit := range []float64{1, 2, 5} {
		if n <= digit*unit {
			return digit * unit
		}
	}
	return 10 * unit
}

// round keeps the numbers of the picture short.
func round(n float64) float64 { return math.Round(n*100) / 100 }

// Width returns the width of the picture.
func (c chart) Width() int { return max(1, len(c.Rows)) * columnWidth }

// Height returns the height of the picture.
func (c chart) Height() int { return pictureHeight }
