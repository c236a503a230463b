// Package history records what concurrent processes did to one object and saw of it, and checks
// by porcupine whether some sequential order of a model explains it.
//
//	log := history.New()
//	p := log.Process()
//	op := p.Call("take 1")
//	err := semaphore.Acquire(ctx, 1)
//	switch {
//	case err == nil:
//		op.Return("taken")
//	case errors.Is(err, backend.ErrIndeterminate):
//		op.Unknown("taken") // it may take effect until the end
//	default:
//		op.Drop() // it has certainly had none
//	}
//	...
//	err := log.Check(model, 0)
//
// Time is a counter that grows by one with each call and return, so the order of operations is
// exact, in virtual time too.
package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Log is the history of one object. It is safe for concurrent use.
type Log struct {
	mu        sync.Mutex
	now       int64
	processes int
	open      map[*Call]struct{}
	done      []porcupine.Operation
}

// New returns an empty history.
func New() *Log { return &Log{open: map[*Call]struct{}{}} }

// Process returns a new process: what calls one operation after the other.
func (l *Log) Process() *Process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &Process{log: l, id: l.newID()}
}

func (l *Log) newID() int {
	l.processes++
	return l.processes - 1
}

func (l *Log) tick() int64 {
	l.now++
	return l.now
}

// Since records what happened by itself, without a call and without anybody knowing when: at some
// time after call, which [Call.Time] has returned, or not at all before the history's end.
func (l *Log) Since(call int64, input, output any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(l.done, porcupine.Operation{
		ClientId: l.newID(), Input: input, Call: call, Output: output, Return: open,
	})
}

// Len returns how many operations have an outcome, known or not.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.done)
}

// open is the time of return of what has none, until [Log.operations] knows the last one.
const open = -1

// Process is a sequential process. It is not safe for concurrent use, and panics if calls overlap.
type Process struct {
	log  *Log
	id   int
	busy *Call
}

// Call records that the process calls an operation. Return, Unknown or Drop must follow, once.
func (p *Process) Call(input any) *Call {
	l := p.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.busy != nil {
		panic(fmt.Sprintf("history: process %d calls %v while it calls %v", p.id, input, p.busy.op.Input))
	}
	c := &Call{process: p, op: porcupine.Operation{ClientId: p.id, Input: input, Call: l.tick()}}
	l.open[c], p.busy = struct{}{}, c
	return c
}

// Call is an operation that was called.
type Call struct {
	process *Process
	op      porcupine.Operation
}

// Time returns when the operation was called, for [Log.Since].
func (c *Call) Time() int64 { return c.op.Call }

// Return records that the operation returned output.
func (c *Call) Return(output any) {
	c.end(func(l *Log) {
		c.op.Output, c.op.Return = output, l.tick()
		l.done = append(l.done, c.op)
	})
}

// Unknown records that nobody knows whether the operation had its effect, which would be output, or
// will have it later. It stays open to the end of the history, and the process goes on as a new one.
func (c *Call) Unknown(output any) {
	c.end(func(l *Log) {
		c.op.Output, c.op.Return = output, open
		l.done = append(l.done, c.op)
		c.process.id = l.newID()
	})
}

// Drop records that the operation certainly had no effect and no result: it was not sent, or it only reads.
func (c *Call) Drop() { c.end(func(*Log) {}) }

func (c *Call) end(record func(l *Log)) {
	l := c.process.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.open[c]; !ok {
		panic(fmt.Sprintf("history: %v of process %d ends twice", c.op.Input, c.op.ClientId))
	}
	delete(l.open, c)
	c.process.busy = nil
	record(l)
}

// ErrUndecided means that the checker ran out of time. A test fails of it: the history must be shorter, or
// know more of its outcomes. A soak, whose histories are drawn, fails of too many.
var ErrUndecided = errors.New("undecided history")

// ErrViolation means that no order of a history's operations explains it.
var ErrViolation = errors.New("no order explains the history")

// Check returns nil if model explains the history. Else the error wraps [ErrViolation], and says how far the model
// follows; or it wraps [ErrUndecided], or names a call without an outcome. All processes must have ended. Patience bounds
// the search; zero means three minutes, since machines are shared.
func (l *Log) Check(model porcupine.Model, patience time.Duration) error {
	patience = cmp.Or(patience, 3*time.Minute)
	operations, err := l.operations()
	if err != nil {
		return err
	}
	switch porcupine.CheckOperationsTimeout(model, operations, patience) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("%w: %d operations in %v", ErrUndecided, len(operations), patience)
	}
	return explain(model, operations, patience)
}

// operations returns the history in the order of its calls, with what is open ending after all else.
func (l *Log) operations() ([]porcupine.Operation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		return nil, fmt.Errorf("history: %v of process %d has no outcome", c.op.Input, c.op.ClientId)
	}
	end := l.now + 1
	all := slices.Clone(l.done)
	for i := range all {
		if all[i].Return == open {
			all[i].Return = end
		}
	}
	slices.SortFunc(all, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	return all, nil
}

// explain searches again, for the longest order.
func explain(model porcupine.Model, operations []porcupine.Operation, patience time.Duration) error {
	_, info := porcupine.CheckOperationsVerbose(model, operations, patience)
	var longest []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, partial := range partition {
			if len(partial) > len(longest) {
				longest = partial
			}
		}
	}
	return fmt.Errorf("%w of %d operations.\nThe model can follow it up to%s\nbut not to all of%s", ErrViolation, len(operations),
		describe(model, longest[max(0, len(longest)-tail):]), describe(model, left(operations, longest)))
}

// tail is how many operations an error shows.
const tail = 12

// left returns the first operations that an order lacks.
func left(all, order []porcupine.Operation) (missing []porcupine.Operation) {
	for _, op := range all {
		have := slices.ContainsFunc(order, func(in porcupine.Operation) bool {
			return in.ClientId == op.ClientId && in.Call == op.Call
		})
		if !have && len(missing) < tail {
			missing = append(missing, op)
		}
	}
	return missing
}

// describe returns a line for each operation.
func describe(model porcupine.Model, operations []porcupine.Operation) (lines string) {
	for _, op := range operations {
		text := fmt.Sprintf("%v -> %v", op.Input, op.Output)
		if model.DescribeOperation != nil {
			text = model.DescribeOperation(op.Input, op.Output)
		}
		lines += fmt.Sprintf("\n    [%d, %d] process %d: %s", op.Call, op.Return, op.ClientId, text)
	}
	return lines
}
