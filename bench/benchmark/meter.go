package benchmark

import (
	"maps"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/servers"
)

// meter reads what a turn has cost, here and on the server.
type meter struct {
	server *servers.Server // nil: there is none, or it is in this process

	// linked says that this process also makes the link's delays, so what it uses is not the client's alone.
	linked bool
}

// reading is the state of what only grows.
type reading struct {
	at           time.Time
	mem          runtime.MemStats
	cpu          time.Duration // of this process
	commands     float64       // of the server, those within scripts included
	scripts      float64
	scriptMicros float64
	busy         float64 // seconds of the server's processor
	connections  float64 // present
}

func (m *meter) read() (r reading, err error) {
	if m.server != nil {
		info, err := m.server.Info("all")
		if err != nil {
			return r, err
		}
		r.readServer(info)
	}
	r.cpu = processorTime()
	runtime.ReadMemStats(&r.mem)
	r.at = time.Now()
	return r, nil
}

func (r *reading) readServer(info map[string]string) {
	r.commands = number(info["total_commands_processed"])
	r.busy = number(info["used_cpu_user"]) + number(info["used_cpu_sys"])
	r.connections = number(info["connected_clients"])
	for _, command := range []string{"evalsha", "evalsha_ro", "eval", "eval_ro"} {
		stats := info["cmdstat_"+command]
		r.scripts += field(stats, "calls")
		r.scriptMicros += field(stats, "usec")
	}
}

// field returns a number of a line of command statistics, such as "calls=1,usec=2".
func field(stats, name string) float64 {
	for part := range strings.SplitSeq(stats, ",") {
		if key, value, _ := strings.Cut(part, "="); key == name {
			return number(value)
		}
	}
	return 0
}

func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// figures returns what a turn between two readings has come to, by unit.
func (m *meter) figures(before, after reading, o Outcome) map[string]float64 {
	if o.Took == 0 {
		o.Took = after.at.Sub(before.at)
	}
	ops := float64(max(o.Ops, 1))
	all := m.client(before, after, o)
	all["ops/s"] = float64(o.Ops) / o.Took.Seconds()
	if m.server != nil {
		all["commands/op"] = (after.commands - before.commands) / ops
		all["scripts/op"] = (after.scripts - before.scripts) / ops
		all["script-us/op"] = (after.scriptMicros - before.scriptMicros) / ops
		all["server-us/op"] = (after.busy - before.busy) * 1e6 / ops
		all["server-cpu%"] = 100 * (after.busy - before.busy) / o.Took.Seconds()
		all["connections"] = after.connections
	}
	maps.Copy(all, o.waits())
	maps.Copy(all, o.Other)
	return all
}

// client returns what the client has used, as far as that is known.
func (m *meter) client(before, after reading, o Outcome) map[string]float64 {
	all := map[string]float64{}
	if !o.Elsewhere {
		if m.linked {
			return all
		}
		o.Processor = after.cpu - before.cpu
	}
	ops := float64(max(o.Ops, 1))
	all["client-us/op"] = o.Processor.Seconds() * 1e6 / ops
	all["client-cpu%"] = 100 * o.Processor.Seconds() / o.Took.Seconds()
	if !o.Elsewhere {
		all["allocs/op"] = float64(after.mem.Mallocs-before.mem.Mallocs) / ops
		all["B/op"] = float64(after.mem.TotalAlloc-before.mem.TotalAlloc) / ops
		all["goroutines"] = float64(runtime.NumGoroutine())
	}
	return all
}
