package engine

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// commonActs are the actions of all machines.
var commonActs = []string{
	"Pass", "Pass", "Pass", "Link", "Channel", "Channel", "Channel", "TroubleNext", "TroubleNext", "Close",
}

// act takes one of commonActs.
func (w *world) act(ctx context.Context, a act) {
	p := w.parties[a.Client]
	switch a.Op {
	case "Pass":
		w.pass(a.For)
	case "Link":
		w.setLink(p, linkTrouble(a), 0, 0)
	case "Channel":
		w.lateOrDeaf(a)
	case "TroubleNext":
		w.troubleNext(p, nextTrouble(a))
	case "Close":
		if a.Which == 0 {
			w.close(ctx, a.Client)
		}
	default:
		must.Fail("no such action: %s", a.Op)
	}
}

// linkTrouble is what a link does to all scripts: it is slow, or it loses them.
func linkTrouble(a act) trouble {
	const odd = 11 * time.Microsecond
	t := trouble{Before: time.Duration(a.Which)*time.Millisecond + odd, After: 3 * odd}
	switch {
	case a.Flag && a.Which > 2:
		t.Held = 40 * time.Millisecond
	case a.Flag:
		t.After += 40 * time.Millisecond
	case a.Which < 3:
		t.Loss = []loss{dial, request, reply}[a.Which]
	}
	return t
}

// nextTrouble is what becomes of one script.
func nextTrouble(a act) trouble {
	const odd = 17 * time.Microsecond
	switch a.Which {
	case 0:
		return trouble{Before: a.For + odd, After: odd}
	case 1:
		return trouble{Held: a.For + odd, Before: odd, After: odd}
	case 2, 3:
		return trouble{Before: odd, After: a.For + odd, Grace: time.Duration(a.Which-2) * time.Minute}
	case 4:
		return trouble{Before: a.For + odd, Loss: late}
	}
	return trouble{Before: odd, Loss: []loss{broken, reply, dial, request}[min(int(a.For.Milliseconds())%5, 3)]}
}

// close closes a client. While its link is sound that takes a moment.
func (w *world) close(ctx context.Context, party int) {
	p := w.parties[party]
	if p.closed {
		return
	}
	w.mu.Lock()
	since, sound := w.soundSince(p)
	began := time.Now()
	sound = sound && !since.After(began)
	p.closing = began
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, harness.Patience/4)
	defer cancel()
	err := p.client.Close(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	p.closed, p.gaveUp = true, err != nil
	w.watch.closed(party, began, sound)
	must.Not(err != nil && sound, "Close over a sound link: %w", err)
}

// lateOrDeaf gives a client whose link is sound late subscriptions, or gaps, or neither.
func (w *world) lateOrDeaf(a act) {
	late, gap := time.Duration(0), time.Duration(0)
	switch a.Which {
	case 0, 1:
		late = a.For
	case 2, 3:
		gap = a.For
	}
	w.setLink(w.parties[a.Client], trouble{}, late, gap)
}
