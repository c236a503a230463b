package extend

import (
	"context"
	"sync"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/primitives/trace"
)

// maxMismatches is how many mismatches a client reports, so objects with the names of users do
// not fill its memory and the log.
const maxMismatches = 1000

// mismatches are those that a client has reported.
type mismatches struct {
	mu       sync.Mutex
	reported map[trace.Mismatch]struct{}
}

// add reports whether m is to be reported.
func (all *mismatches) add(m trace.Mismatch) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if _, known := all.reported[m]; known || len(all.reported) == maxMismatches {
		return false
	}
	if all.reported == nil {
		all.reported = make(map[trace.Mismatch]struct{})
	}
	all.reported[m] = struct{}{}
	return true
}

// ReportMismatch reports that an option of o does not apply, since the server has another value: as a
// warning in the log, and to the client's tracer. A client reports the same mismatch once,
// and a thousand mismatches at most.
func (o *Object) ReportMismatch(option, want, have string) {
	m := trace.Mismatch{Object: o.traced(), Option: text(option), Want: text(want), Have: text(have)}
	if !o.core.mismatches.add(m) {
		return
	}
	if report := o.core.opts.Tracer.Mismatch; report != nil {
		report(m)
	}
	if entry := o.core.opts.Logger.Check(zap.WarnLevel, "option differs from what the server has"); entry != nil {
		fields := append(o.fields(), zap.String("option", option), zap.String("want", want), zap.String("have", have))
		o.core.background(func(context.Context) { entry.Write(fields...) }) // The logger may block.
	}
}
