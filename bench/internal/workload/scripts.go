package workload

import (
	"context"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/bench/internal/drivers"
	"github.com/hasp-go/hasp/bench/internal/measure"
)

// scripts returns the workload that sends each script of each pair alone, one call after the other: the
// microseconds that it takes the server. SET NX PX, the least that a lock takes, is measured with them.
func scripts() Workload {
	return Workload{
		Name: "scripts", Sizes: []int{1}, Unit: "connections", Short: 1, Weight: 3, Remote: true, Unlinked: true,
		Subjects: eachScript,
	}
}

// objectsPerTurn is on how many objects each script runs in a turn.
const objectsPerTurn = 500

func eachScript(s *Setup) []measure.Subject {
	driver := drivers.Open(s.Scope, s.Driver, s.Place, false)
	client := s.clientOn(driver.Backend)
	ctx := context.Background()
	all := []measure.Subject{{Name: "setnx", Turn: s.commands(driver, []backend.Call{
		{Script: &backend.Script{Name: "set_nx", Command: "SET"}, Keys: []string{recorded}, Args: []string{"x", "NX", "PX", "30000"}},
		{Script: &backend.Script{Name: "del", Command: "DEL"}, Keys: []string{recorded}},
	})}}
	for _, p := range pairMakers() {
		if p.with == nobody {
			continue
		}
		sends := s.record(driver, p.make, p.name+recorded)
		for i := range objectsPerTurn { // The objects that the script needs.
			_, err := p.make(ctx, client, named(p.name, i))
			s.Must(err)
		}
		all = append(all, measure.Subject{Name: p.name, Turn: s.commands(driver, sends)})
	}
	return all
}

// commands is a turn that sends each call for many objects, one call after the other.
func (s *Setup) commands(driver *drivers.Client, sends []backend.Call) measure.Turn {
	return func(ctx context.Context) (measure.Outcome, error) {
		o := measure.Outcome{Ops: objectsPerTurn, Other: map[string]float64{}}
		for _, send := range sends {
			before, err := s.serverTime(send.Script)
			if err != nil {
				return o, err
			}
			for i := range objectsPerTurn {
				name := strconv.Itoa(i)
				call := bareCall(driver, send.Script, renamed(send.Keys, name), renamed(send.Args, name))
				if err := call(ctx); err != nil {
					return o, err
				}
			}
			after, err := s.serverTime(send.Script)
			if err != nil {
				return o, err
			}
			o.Other[send.Script.Name+"-us"] = (after - before) / objectsPerTurn
		}
		return o, nil
	}
}

// serverTime returns how many microseconds the server has spent on the command that a script is sent by.
func (s *Setup) serverTime(script *backend.Script) (float64, error) {
	info, err := s.Server.Info("commandstats")
	command := strings.ToLower(script.Command)
	if command == "" {
		command = "evalsha"
	}
	return measure.Field(info["cmdstat_"+command], "usec"), err
}
