package wait

import (
	"math/rand/v2"
	"time"
)

// A release that frees one unit is heard by all clients that wait, and only one of them gets it. If all
// tried at once, each hand-over would cost as many scripts as there are clients. So where there are many, a
// few try at once, at random, and the others a little later, unless they hear another release before. A
// client knows how many they are by its own last release.
const (
	// fewClients is how many clients may try at once.
	fewClients = 12

	// triers is how many clients try at once for each release that they have let pass.
	triers = 2

	// putOff is how much later the others try: longer than a hand-over takes among those few.
	putOff = 2 * time.Millisecond

	// putOffEach is how much more, at most, for each client. Where a hand-over takes long, the others try one
	// after the other, so long apart on average.
	putOffEach = 500 * time.Microsecond

	// mostClients bounds a crowd, and so the time for which others put off their tries: 5 s.
	mostClients = 10_000

	// knownCrowds bounds how many channels a client knows the crowds of.
	knownCrowds = 1000
)

// NoteCrowd notes how many clients heard the last message that this one has published to a channel.
func (w *Waiters) NoteCrowd(channel string, clients int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if clients <= fewClients {
		delete(w.crowds, channel)
		return
	}
	if len(w.crowds) >= knownCrowds {
		clear(w.crowds)
	}
	w.crowds[channel] = min(clients, mostClients)
}

// hear announces the units of a message: one unit among many clients perhaps later. The next message draws
// anew, with a greater chance. The caller holds the mutex.
func (q *queue) hear(n int) {
	q.later.stop()
	crowd := q.waiters.crowds[q.key.channel]
	if n > 1 || rand.Int64N(max(crowd, 1)) < triers*(1+q.passed) { //nolint:gosec // No secret.
		q.passed = 0
		q.announce(n)
		return
	}
	q.passed++
	q.later.within(putOff + rand.N(time.Duration(crowd)*putOffEach)) //nolint:gosec // Jitter.
}

// announceLater announces the unit of a message that was put off.
func (q *queue) announceLater() {
	q.waiters.mu.Lock()
	defer q.waiters.mu.Unlock()
	q.later.fired()
	if !q.channel.dropped {
		q.passed = 0
		q.announce(1)
	}
}
