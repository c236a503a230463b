package workloads

import (
	"context"
	"errors"
	"github.com/hasp-go/hasp/bench/benchmark"
	"strconv"

	"github.com/hasp-go/hasp/backend"
)

// scripts returns the workload that sends each script of each pair alone, for many objects at once: the processor
// time that it takes the server's main thread. The simplest lock, SET NX and a script, is measured with them.
func scripts() benchmark.Workload {
	return benchmark.Workload{
		Name: "scripts", Sizes: []int{1}, Unit: "connections", Short: 1, Weight: 1, Remote: true, Unlinked: true,
		Subjects: on(eachScript),
	}
}

// objectsPerTurn is on how many objects each script runs in a turn.
const objectsPerTurn = 500

// sides are the units of the first and the second script of a pair.
var sides = []string{"acquire-us", "release-us"}

func eachScript(s *setup) []benchmark.Subject {
	driver := s.Open(false)
	client := s.NewClient(driver.Backend)
	ctx := context.Background()
	var all []benchmark.Subject
	if driver.Send != nil {
		all = append(all, benchmark.Subject{Name: setNX, Turn: s.commands(driver, s.setNXCalls(driver, recorded))})
	}
	for _, p := range pairMakers() {
		if p.with == nobody {
			continue
		}
		sends := s.record(driver, p.make, p.name+recorded)
		for i := range objectsPerTurn { // The objects that the script needs.
			_, err := p.make(ctx, client, named(p.name, i))
			s.Must(err)
		}
		all = append(all, benchmark.Subject{Name: p.name, Turn: s.commands(driver, sends)})
	}
	return all
}

// commands is a turn that sends each call for many objects. A driver that can sends them together, so little of
// the server's time is the network's.
func (s *setup) commands(driver *benchmark.Client, sends []backend.Call) benchmark.Turn {
	return func(ctx context.Context) (benchmark.Outcome, error) {
		o := benchmark.Outcome{Ops: objectsPerTurn, Other: map[string]float64{}}
		for side, send := range sends {
			uses := make([]use, objectsPerTurn)
			for i := range uses {
				name := strconv.Itoa(i)
				uses[i] = bareCall(driver, send.Script, renamed(send.Keys, name), renamed(send.Args, name))
			}
			before, err := s.mainThread()
			if err != nil {
				return o, err
			}
			if _, err = sideBySide(ctx, uses, func(ctx context.Context, _ int, call use) (int, error) {
				return 1, call(ctx)
			}); err != nil {
				return o, err
			}
			after, err := s.mainThread()
			if err != nil {
				return o, err
			}
			o.Other[sides[side]] = (after - before) * 1e6 / objectsPerTurn
		}
		return o, nil
	}
}

// mainThread returns the processor time of the server's main thread, in seconds.
func (s *setup) mainThread() (float64, error) {
	info, err := s.Server.Info("cpu")
	user, errs := strconv.ParseFloat(info["used_cpu_user_main_thread"], 64)
	system, more := strconv.ParseFloat(info["used_cpu_sys_main_thread"], 64)
	return user + system, errors.Join(err, errs, more)
}
