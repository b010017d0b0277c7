package curve

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"strconv"

	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed chart.html
var source string

var chart = template.Must(template.New("chart").Funcs(template.FuncMap{"plain": ui.Plain}).Parse(source))

// Chart is a chart on a page, with the form that selects the metric and its look. A script draws it;
// without one, it is an image of the server.
type Chart struct {
	Title string
	// Page is the address of the page, and Data that of the data, without its extension: .json, .csv and .svg.
	Page, Data string
	Metrics    []string
	Metric     string
	Look       Look
	// Kept are other parameters of both addresses.
	Kept url.Values
}

// Look is how curves are drawn. It is in the address of the page.
type Look struct {
	Log bool
	// Smooth is the weight of the earlier values of a smoothed curve, in percent. 0 is not smoothed.
	Smooth int
}

// smoothings are the weights that the form offers.
func smoothings() []int { return []int{0, 50, 80, 90, 95, 99} }

// ReadLook reads the look in an address.
func ReadLook(v url.Values) Look {
	l := Look{Log: v.Get("log") != ""}
	for _, s := range smoothings() {
		if strconv.Itoa(s) == v.Get("smooth") {
			l.Smooth = s
		}
	}
	return l
}

// choice is an option of the form.
type choice struct {
	Value, Text string
	Chosen      bool
}

// Smoothings returns the choices of smoothing.
func (c Chart) Smoothings() []choice {
	var out []choice
	for _, s := range smoothings() {
		text := "off"
		if s > 0 {
			text = strconv.Itoa(s) + " %"
		}
		out = append(out, choice{strconv.Itoa(s), text, s == c.Look.Smooth})
	}
	return out
}

// Address returns the address of the data in a format.
func (c Chart) Address(extension string) string {
	q := maps.Clone(c.Kept)
	if q == nil {
		q = url.Values{}
	}
	q.Set("metric", c.Metric)
	if c.Look.Log {
		q.Set("log", "1")
	}
	if c.Look.Smooth > 0 {
		q.Set("smooth", strconv.Itoa(c.Look.Smooth))
	}
	return c.Data + "." + extension + "?" + q.Encode()
}

// HTML returns the chart. html/template has escaped all texts.
func (c Chart) HTML() template.HTML {
	var out bytes.Buffer
	if err := chart.Execute(&out, c); err != nil {
		return template.HTML(template.HTMLEscapeString(fmt.Sprintf("This chart cannot be shown: %v", err))) //nolint:gosec // it is escaped
	}
	return template.HTML(out.String()) //nolint:gosec // it is escaped
}
