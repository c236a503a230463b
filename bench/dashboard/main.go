// Command dashboard draws a Grafana dashboard as SVG: each panel's queries, as a Prometheus answers them.
//
//	go run ./bench/dashboard -prometheus http://127.0.0.1:9090 -last 5m > docs/pictures/dashboard.svg
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// dashboard is the part of Grafana's format that is drawn.
type dashboard struct {
	Panels []struct {
		Title       string
		Description string
		FieldConfig struct {
			Defaults struct {
				Unit   string
				Custom struct {
					ScaleDistribution struct{ Type string }
				}
			}
		}
		Targets []target
	}
}

type target struct{ Expr, LegendFormat string }

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("dashboard", flag.ContinueOnError)
	file := flags.String("dashboard", "integration/prometheus/dashboard.json", "the dashboard")
	address := flags.String("prometheus", "http://127.0.0.1:9090", "address of the Prometheus")
	last := flags.Duration("last", 5*time.Minute, "how much of the past is drawn")
	interval := flags.String("interval", "15s", "$__rate_interval")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	end := time.Now()
	source := prometheus{*address, end.Add(-*last), end}
	drawn, err := picture(text, *interval, source)
	if err != nil {
		return err
	}
	_, err = out.Write(drawn)
	return err
}

// picture draws a dashboard with the answers of source.
func picture(text []byte, interval string, source prometheus) ([]byte, error) {
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	variables := strings.NewReplacer("$__rate_interval", interval, "$job", ".*")
	var all []panel
	for _, p := range d.Panels {
		defaults := p.FieldConfig.Defaults
		next := panel{title: p.Title, unit: defaults.Unit, log: defaults.Custom.ScaleDistribution.Type == "log"}
		for _, t := range p.Targets {
			found, err := source.ask(variables.Replace(t.Expr), t.LegendFormat)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.Title, err)
			}
			next.series = append(next.series, found...)
		}
		all = append(all, next)
	}
	return draw(all, source.start, source.end)
}
