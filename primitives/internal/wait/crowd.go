package wait

import (
	"math/rand/v2"
	"time"
)

// All waiting clients hear a release that frees one unit, and only one of them gets the unit. If
// all tried at once, each hand-over would cost as many scripts as there are clients. So if there
// are many clients, a few try at once, at random, and the others a little later, unless they hear
// another release before. A client knows the number of clients from its own last release.
const (
	// fewClients is how many clients may try at once.
	fewClients = 12

	// triers is how many clients try at once, for each release that they have not tried for.
	triers = 2

	// putOff is how much later the other clients try: longer than a hand-over among those few
	// takes.
	putOff = 2 * time.Millisecond

	// putOffEach is how much later again, at most, for each client. If a hand-over takes long, the
	// other clients try one after the other, at about this interval.
	putOffEach = 500 * time.Microsecond

	// mostClients bounds the number of clients, and so the delay of their tries: 5 s.
	mostClients = 10_000

	// knownCrowds is the largest number of channels for which a client keeps the number of clients.
	knownCrowds = 1000
)

// NoteCrowd notes how many clients heard the last message that this client published to a channel.
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

// hear announces the units of a message. If there is one unit and there are many clients, it may
// announce the unit later. The next message draws again, with a greater chance. The caller holds
// the mutex.
func (q *queue) hear(n int) {
	q.later.Stop()
	crowd := q.waiters.crowds[q.key.channel]
	if n > 1 || rand.Int64N(max(crowd, 1)) < triers*(1+q.passed) { //nolint:gosec // No secret.
		q.passed = 0
		q.announce(n)
		return
	}
	q.passed++
	q.later.Within(putOff + rand.N(time.Duration(crowd)*putOffEach)) //nolint:gosec // Jitter.
}

// announceLater announces the unit of a message that was put off.
func (q *queue) announceLater() {
	q.waiters.mu.Lock()
	defer q.waiters.mu.Unlock()
	q.later.Fired()
	if !q.channel.Dropped {
		q.passed = 0
		q.announce(1)
	}
}
