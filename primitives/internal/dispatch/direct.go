package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// warm is how long after an answer a caller may send its call itself. Within that time the driver
// has a connection. Later the driver may look for a connection for longer than unsentTimeout, and
// only its return ends the caller's waiting.
const warm = time.Second

// sendDirectly sends r in its caller's goroutine, if no other call is under way and the server has
// just answered. That saves a goroutine and the caller's wake-up. It reports whether it sent r:
// then r has its outcome. The caller is in the driver until the driver returns, even if ctx ends or Close gives up the
// call. So r must have a Limit, and be Hasty, and the backend must hear it; or the caller must have no reason to leave.
func (d *Dispatcher) sendDirectly(ctx context.Context, r *Request) bool {
	if limited := r.Hasty && r.Limit > 0 && d.prompt; !limited && (r.Limit > 0 || ctx.Done() != nil || r.closing != nil) {
		return false
	}
	b := d.beginDirectly(r)
	if b == nil {
		return false
	}
	defer d.endDirectly() // Even if a hook of the driver ends the goroutine.
	if r.Limit > 0 {
		b.endBy(ctx, r)
	}
	b.run(d)
	<-r.answered // The timer may just give up the batch.
	if r.Limit > 0 {
		d.noteLateness(ctx, r, b.deadline)
	}
	return true
}

// endBy gives up the batch of r at the end of its Limit, or at ctx's deadline if that is before.
func (b *batch) endBy(ctx context.Context, r *Request) {
	b.deadline = b.began.Add(r.Limit)
	if end, ok := ctx.Deadline(); ok && end.Before(b.deadline) {
		b.deadline = end
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = time.AfterFunc(time.Until(b.deadline), b.giveUp)
}

// noteLateness words the failure of a call that its caller has sent until a deadline, as leave and noteSilence do.
func (d *Dispatcher) noteLateness(ctx context.Context, r *Request, deadline time.Time) {
	err := r.outcome.Err
	if err == nil || errors.As(err, new(*backend.ServerError)) || time.Now().Before(deadline) {
		return
	}
	ended := ctx.Err()
	if end, ok := ctx.Deadline(); ended == nil && ok && !end.After(deadline) {
		ended = context.DeadlineExceeded // ctx's timer may be a bit later.
	}
	if ended == nil {
		ended = r.noAnswer()
	}
	r.outcome.Err = fmt.Errorf("%w: %w", ended, err)
	d.noteSilence(r, ended)
}

// beginDirectly returns a batch of r alone, and counts its caller as a sender. Nil: r must be
// queued. In a cluster r is always queued, since an answer of one node says nothing about the
// connections to other nodes.
func (d *Dispatcher) beginDirectly(r *Request) *batch {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.senders > 0 || d.queue.size() > 0 || d.closed || !d.onePool || time.Since(d.answered) > warm {
		return nil
	}
	d.senders++
	return d.begin([]*Request{r})
}

// endDirectly ends the sending by a caller. If calls have queued meanwhile, a goroutine continues
// as the sender.
func (d *Dispatcher) endDirectly() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queue.size() > 0 {
		go d.send()
		return
	}
	d.senders--
	d.readySenders--
}
