package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/bench/internal/report"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

// step is one group of subjects that take turns: a workload of a size, on a backend, a server and a link.
type step struct {
	workload Workload
	driver   Driver
	kind     servers.Kind
	size     int
	link     time.Duration
	rounds   int
	turn     time.Duration
	peers    []string
}

// String says what is measured.
func (s step) String() string {
	all := fmt.Sprintf("%s of %d %s on %s", s.workload.Name, s.size, s.workload.Unit, s.where())
	if s.link > 0 {
		all += fmt.Sprintf(", link %v", s.link)
	}
	return all
}

// where returns the backend, and its server if it has one.
func (s step) where() string {
	if s.driver.InProcess {
		return s.driver.Name
	}
	return s.driver.Name + ", " + s.kind.String()
}

// weight is how long the step takes, about, in turns of a subject.
func (s step) weight() float64 {
	const jvm = 80 // It starts, and runs for a while before it is measured.
	all := float64(s.rounds+1) * max(1, s.workload.Weight)
	if s.redisson() {
		all += jvm
	}
	return all
}

// wanted is what the flags ask for.
type wanted struct {
	workloads []Workload
	drivers   []Driver
	kinds     []servers.Kind
	links     []time.Duration
	peers     []string
}

// wants reads the flags.
func (o *options) wants() (w wanted, err error) {
	errs := make([]error, 7)
	w.drivers, errs[0] = o.driversOf(o.backends)
	w.kinds, errs[1] = kindsOf(o.servers)
	w.workloads, errs[2] = o.workloadsOf(o.workloads)
	w.peers, errs[3] = listed("peer", o.peers, o.peerNames())
	w.links, errs[4] = linksOf(o.links)
	_, errs[5] = listed("format", o.format, report.Formats)
	if o.sizes != shortSizes && o.sizes != allSizes {
		_, errs[6] = listed("size", o.sizes, sizesOfAny(w.workloads))
	}
	return w, errors.Join(errs...)
}

// plan returns the steps that the flags ask for.
func (o *options) plan() (all []step, err error) {
	wanted, err := o.wants()
	if err != nil {
		return nil, err
	}
	for _, w := range wanted.workloads {
		for _, size := range o.sizesOf(w) {
			s := step{workload: w, size: size, rounds: o.rounds, turn: o.turn, peers: wanted.peers}
			if w.Rounds > 0 {
				s.rounds = min(s.rounds, w.Rounds)
			}
			all = append(all, s.everywhere(wanted)...)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("nothing is asked for that there is")
	}
	return all, nil
}

// everywhere returns the step on each server, backend and link that is possible.
func (s step) everywhere(w wanted) (all []step) {
	if s.workload.Unlinked {
		w.links = []time.Duration{0}
	}
	for _, s.kind = range w.kinds {
		for _, s.driver = range w.drivers {
			for _, s.link = range w.links {
				if s.possible(s.kind == w.kinds[0]) {
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// possible reports whether the combination exists: a server in this process has no link and no kinds.
func (s step) possible(firstKind bool) bool {
	return !s.driver.InProcess || s.link == 0 && firstKind && !s.workload.Remote
}

// What -sizes takes besides numbers.
const (
	shortSizes = "short"
	allSizes   = "all"
)

// sizesOfAny returns the sizes that one of some workloads has.
func sizesOfAny(of []Workload) (texts []string) {
	var all []int
	for _, w := range of {
		all = append(all, w.Sizes...)
	}
	slices.Sort(all)
	for _, size := range slices.Compact(all) {
		texts = append(texts, strconv.Itoa(size))
	}
	return texts
}

// sizesOf returns the sizes of a workload that are wanted.
func (o *options) sizesOf(w Workload) []int {
	switch o.sizes {
	case shortSizes:
		return w.Sizes[:cmp.Or(w.Short, len(w.Sizes))]
	case allSizes:
		return slices.Sorted(slices.Values(w.Sizes))
	}
	wanted := strings.Split(o.sizes, ",")
	return slices.DeleteFunc(slices.Clone(w.Sizes), func(size int) bool {
		return !slices.Contains(wanted, strconv.Itoa(size))
	})
}

// driversOf returns those of a list of names, in the order of the list.
func (p Program) driversOf(list string) (chosen []Driver, err error) {
	names := p.driverNames()
	words, err := listed("backend", list, names)
	for _, word := range words {
		chosen = append(chosen, p.Drivers[slices.Index(names, word)])
	}
	return chosen, err
}

// workloadsOf returns those of a list of names, in the order of the program.
func (p Program) workloadsOf(list string) ([]Workload, error) {
	if list == "all" {
		return p.Workloads, nil
	}
	chosen, err := listed("workload", list, p.workloadNames())
	return slices.DeleteFunc(slices.Clone(p.Workloads), func(w Workload) bool { return !slices.Contains(chosen, w.Name) }), err
}

func kindsOf(list string) (kinds []servers.Kind, err error) {
	byName := map[string]servers.Kind{}
	var known []string
	for _, kind := range servers.Kinds() {
		byName[strings.ToLower(kind.String())] = kind
		known = append(known, strings.ToLower(kind.String()))
	}
	words, err := listed("server", list, known)
	for _, word := range words {
		kinds = append(kinds, byName[word])
	}
	return kinds, err
}

func linksOf(list string) (links []time.Duration, err error) {
	for word := range strings.SplitSeq(list, ",") {
		d, err := time.ParseDuration(word)
		if err != nil {
			return nil, fmt.Errorf("link: %w", err)
		}
		links = append(links, d)
	}
	return links, nil
}

// timeLeft guesses how long the steps from the i-th on take, by those before, or else by their turns.
func timeLeft(plan []step, i int, passed time.Duration) time.Duration {
	var done, left float64
	for n, s := range plan {
		if n < i {
			done += s.weight()
		} else {
			left += s.weight()
		}
	}
	each := 4 * float64(plan[0].turn) // Subjects.
	if i > 0 {
		each = float64(passed) / done
	}
	return time.Duration(left * each).Round(time.Second)
}

// measure starts what the step needs, and returns what was measured.
func (s step) measure(ctx context.Context, versions map[string]string) (rows []report.Row, err error) {
	failed := within(func(scope *Scope) {
		setup := Setup{Scope: scope, Driver: s.driver, Size: s.size, Turn: s.turn, Peers: s.peers}
		row := report.Row{
			Workload: s.workload.Name, Backend: s.driver.Name, Server: "none", Size: s.size,
			LinkMS: float64(s.link) / float64(time.Millisecond),
		}
		if s.driver.InProcess {
			setup.Embedded = embedded.NewServer()
		} else {
			setup.Server = servers.Start(scope, s.kind, nil)
			setup.Addr = s.linked(scope, setup.Server.Addr())
			row.Server = strings.ToLower(s.kind.String())
			_, versions[row.Server], _ = servers.Find(s.kind)
		}
		subjects := s.workload.Subjects(&setup)
		all := group{Row: row, subjects: subjects, meter: meter{server: setup.Server, linked: s.link > 0}}
		rows, err = all.run(ctx, s.rounds)
		scope.Must(err)
	})
	return rows, failed
}

// linked returns where the server is found through the link.
func (s step) linked(scope *Scope, addr string) string {
	if s.link == 0 {
		return addr
	}
	p := proxy.Start(scope, addr, nil)
	p.Delay(s.link)
	return p.Addr()
}
