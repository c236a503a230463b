package extend

import (
	"context"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/trace"
)

// maxMismatches is how many mismatches a client reports, so objects with the names of users do
// not fill its memory and the log.
const maxMismatches = 1000

// mismatches are those that a client has reported.
type mismatches struct {
	count    atomic.Int32
	reported sync.Map // by the trace.Mismatch
}

// add reports whether m is to be reported.
func (all *mismatches) add(m trace.Mismatch) bool {
	if all.count.Load() >= maxMismatches {
		return false
	}
	_, known := all.reported.LoadOrStore(m, nil)
	return !known && all.count.Add(1) <= maxMismatches
}

// ReportMismatch reports that an option of o does not apply, since the server has another value: as a
// warning in the log, and to the client's tracer. A client reports the same mismatch once,
// and a thousand mismatches at most.
func (o *Object) ReportMismatch(option, want, have string) {
	m := trace.Mismatch{Object: o.traced(), Option: worded.Text(option), Want: worded.Text(want), Have: worded.Text(have)}
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
