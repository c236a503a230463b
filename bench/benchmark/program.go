package benchmark

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/hasp-go/hasp/bench/internal/report"
)

// Program is what one program can measure.
type Program struct {
	Drivers   []Driver // the first two take part unless the flag -backends says otherwise
	Workloads []Workload
}

// options are what the flags say.
type options struct {
	Program
	backends, servers, workloads, peers, links string
	sizes                                      string
	rounds                                     int
	turn                                       time.Duration
	format, plots, file, from, compare         string
	profile                                    string
}

// Run measures what the flags in args ask for, and blocks until that is done or the process is interrupted; what was
// measured before an interrupt or a failure is reported, too. With -h it prints the flags. It returns the exit code: 0,
// 1 after a failure, and 2 if a flag does not exist or has no such form. It prints errors to stderr, as it does its
// progress.
func (p Program) Run(stdout, stderr io.Writer, args []string) int {
	o := options{Program: p}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	drivers, peers := p.driverNames(), p.peerNames()
	flags.StringVar(&o.backends, "backends", strings.Join(drivers[:min(2, len(drivers))], ","), "of "+strings.Join(drivers, ", "))
	flags.StringVar(&o.servers, "servers", "redis", "redis, valkey, or other `kinds` that are installed")
	flags.StringVar(&o.workloads, "workloads", "all", "of "+strings.Join(p.workloadNames(), ", "))
	flags.StringVar(&o.peers, "peers", strings.Join(peers, ","), "which libraries take part")
	flags.StringVar(&o.links, "links", "0", "delays of the link in each direction, such as 0,1ms,10ms")
	flags.StringVar(&o.sizes, "sizes", shortSizes, "short or all of each workload, or some `numbers`")
	flags.IntVar(&o.rounds, "rounds", 12, "turns of each subject")
	flags.DurationVar(&o.turn, "turn", 100*time.Millisecond, "how long a turn lasts; some workloads take several")
	flags.StringVar(&o.format, "format", report.Table, "of "+strings.Join(report.Formats, ", "))
	flags.StringVar(&o.plots, "plots", "", "a `folder` for plots")
	flags.StringVar(&o.file, "file", "", "a `file` to which the run is added, as a line")
	flags.StringVar(&o.from, "from", "", "a `file` whose last run is reported instead of a new one")
	flags.StringVar(&o.compare, "compare", "", "a `file` with an older run")
	flags.StringVar(&o.profile, "cpuprofile", "", "a `file` for the processor profile of the run, for go tool pprof")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.bench(ctx, stdout, stderr, args); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

// bench measures, and reports the results.
func (o *options) bench(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	plan, err := o.plan()
	if err != nil {
		return err
	}
	old, err := o.older() // Before the run, which may be added to the same file.
	if err != nil {
		return err
	}
	r, err := o.measured(ctx, plan, stderr, args)
	if r == nil || len(r.Rows) == 0 {
		return err
	}
	return errors.Join(err, o.show(stdout, stderr, r, old))
}

// measured returns the run to report: the last one of a file, or a new one. If that fails, it has the steps before.
func (o *options) measured(ctx context.Context, plan []step, stderr io.Writer, args []string) (*report.Run, error) {
	if o.from != "" {
		return report.Last(o.from)
	}
	r := report.New(args)
	withRedisson(plan, stderr, r.Versions)
	stop, err := profiled(o.profile)
	if err != nil {
		return nil, err
	}
	return r, errors.Join(follow(ctx, plan, r, stderr), stop())
}

// follow measures the steps of the plan, and adds their rows to r. It stops at the first step that fails, or that an
// interrupt ends: r keeps the rows of the steps before it.
func follow(ctx context.Context, plan []step, r *report.Run, stderr io.Writer) error {
	begin := time.Now()
	for i, g := range plan {
		fmt.Fprintf(stderr, "%d of %d, about %v left: %s\n", i+1, len(plan), timeLeft(plan, i, time.Since(begin)), g)
		rows, err := g.measure(ctx, r.Versions)
		if err != nil {
			return fmt.Errorf("%s: %w", g, err)
		}
		r.Rows = append(r.Rows, rows...)
	}
	return nil
}

// profiled begins a processor profile of this process, and returns what ends it. With an empty path there is none.
func profiled(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, pprof.StartCPUProfile(file)
}

// older returns the run to compare with; nil if none is asked for.
func (o *options) older() (*report.Run, error) {
	if o.compare == "" {
		return nil, nil //nolint:nilnil // There is none.
	}
	return report.Last(o.compare)
}

// show prints, draws and keeps the run. A format for programs has nothing else on stdout.
func (o *options) show(stdout, stderr io.Writer, r, old *report.Run) error {
	errs := []error{r.Write(stdout, o.format)}
	if o.plots != "" {
		errs = append(errs, r.Plot(o.plots))
	}
	if o.file != "" {
		errs = append(errs, r.Append(o.file))
	}
	if o.format != report.Table {
		stdout = stderr
	}
	if old != nil {
		errs = append(errs, r.Compare(stdout, old))
	}
	if o.format == report.Table {
		r.RatioLine(stdout)
	}
	return errors.Join(errs...)
}

// check returns what the program lacks.
func (p Program) check() error {
	if len(p.Drivers) == 0 {
		return errors.New("the program has no driver")
	}
	seen := map[string]bool{}
	for _, d := range p.Drivers {
		switch {
		case seen[d.Name]:
			return fmt.Errorf("there are two drivers %q", d.Name)
		case d.Open == nil:
			return fmt.Errorf("driver %q has no Open", d.Name)
		}
		seen[d.Name] = true
	}
	clear(seen)
	for _, w := range p.Workloads {
		switch {
		case seen[w.Name]:
			return fmt.Errorf("there are two workloads %q", w.Name)
		case slices.Contains(strings.Split(w.Name, "_"), ""):
			return fmt.Errorf("workload %q: Name needs words", w.Name)
		case w.Subjects == nil:
			return fmt.Errorf("workload %q has no Subjects", w.Name)
		case w.Short < 0 || w.Short > len(w.Sizes) || len(w.Sizes) == 0:
			return fmt.Errorf("workload %q: Short is %d of %d Sizes", w.Name, w.Short, len(w.Sizes))
		}
		seen[w.Name] = true
	}
	return nil
}

// driverNames returns the names of the drivers.
func (p Program) driverNames() (all []string) {
	for _, d := range p.Drivers {
		all = append(all, d.Name)
	}
	return all
}

// workloadNames returns the names of the workloads.
func (p Program) workloadNames() (all []string) {
	for _, w := range p.Workloads {
		all = append(all, w.Name)
	}
	return all
}

// peerNames returns the names of the peers, each once.
func (p Program) peerNames() (all []string) {
	for _, w := range p.Workloads {
		all = append(all, w.Peers...)
	}
	for _, d := range p.Drivers {
		for _, peer := range d.Peers {
			all = append(all, peer.Name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// listed returns the words of a list, each of which must be one of those allowed.
func listed(what, list string, allowed []string) ([]string, error) {
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	for _, word := range words {
		if !slices.Contains(allowed, word) {
			return nil, fmt.Errorf("no %s %q: there are %s", what, word, strings.Join(allowed, ", "))
		}
	}
	return words, nil
}
