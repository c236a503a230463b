package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"gonum.org/v1/plot/plotter"
)

// prometheus is a Prometheus, by its address, and the time of which it is asked.
type prometheus struct {
	address    string
	start, end time.Time
}

// series is a line of a panel. X is in Unix seconds.
type series struct {
	name   string
	points plotter.XYs
}

// steps is the number of points of a line.
const steps = 120

// ask returns the series of a query. The legend names labels, such as "{{kind}}".
func (p prometheus) ask(query, legend string) ([]series, error) {
	step := p.end.Sub(p.start) / steps
	values := url.Values{
		"query": {query}, "start": {unix(p.start)}, "end": {unix(p.end)}, "step": {fmt.Sprint(step.Seconds())},
	}
	response, err := http.Get(p.address + "/api/v1/query_range?" + values.Encode())
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct{ Result []result }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("%s: %s", query, answer.Error)
	}
	var all []series
	for _, r := range answer.Data.Result {
		all = append(all, series{name(legend, r.Metric), r.points()})
	}
	return all, nil
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

type result struct {
	Metric map[string]string
	Values [][2]any // the time as a number, and the value as a text
}

// points leaves out what is no number, such as the quantile of nothing.
func (r result) points() (points plotter.XYs) {
	for _, v := range r.Values {
		at, _ := v[0].(float64)
		text, _ := v[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if err == nil && !math.IsNaN(value) && !math.IsInf(value, 0) {
			points = append(points, plotter.XY{X: at, Y: value})
		}
	}
	return points
}

var inLegend = regexp.MustCompile(`\{\{ *(\w+) *\}\}`)

// name puts labels into a legend.
func name(legend string, labels map[string]string) string {
	return inLegend.ReplaceAllStringFunc(legend, func(found string) string {
		return labels[inLegend.FindStringSubmatch(found)[1]]
	})
}
