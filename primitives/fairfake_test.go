package primitives_test

import (
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// fairAcquire does what fair_acquire does, but that nobody is ever taken for dead. The keys are the lock,
// its queue, two more, and the token; the arguments are the owner, the lease, two more, and the channel.
func (s *fakeServer) fairAcquire(keys, args []string) backend.Reply {
	waiting, owner := s.queues[keys[1]], args[0]
	place := slices.Index(waiting, owner)
	if s.live(keys[0]).owner == "" && (len(waiting) == 0 || place == 0) {
		s.dequeue(keys[1], owner)
		token, _ := s.acquire(keys[0], keys[4], owner, args[1])
		return backend.ArrayReply([]backend.Reply{backend.StringReply(token), backend.IntegerReply(0)})
	}
	if queues := args[3] != ""; queues && place < 0 {
		s.queues[keys[1]] = append(waiting, owner)
	}
	left := time.Until(s.live(keys[0]).expires)
	if slices.Index(s.queues[keys[1]], owner) > 0 {
		left = max(left, 0) + time.Minute
	}
	return backend.ArrayReply([]backend.Reply{{}, backend.IntegerReply(left.Milliseconds())})
}

// fairRelease does what fair_release does.
func (s *fakeServer) fairRelease(keys []string, owner, turn string) backend.Reply {
	s.dequeue(keys[1], owner)
	released := s.live(keys[0]).owner == owner
	if released {
		delete(s.locks, keys[0])
	}
	if waiting := s.queues[keys[1]]; s.live(keys[0]).owner == "" && len(waiting) > 0 {
		s.publish(turn+":"+waiting[0], "0")
	}
	return truth(released)
}

// fairReleaseAll does what fair_release_all does.
func (s *fakeServer) fairReleaseAll(keys, args []string) backend.Reply {
	statuses := make([]backend.Reply, len(keys)/4)
	for i := range statuses {
		statuses[i] = s.fairRelease(keys[4*i:4*i+4], args[i], args[len(statuses)+i])
	}
	return backend.ArrayReply(statuses)
}

func (s *fakeServer) dequeue(queue, owner string) {
	s.queues[queue] = slices.DeleteFunc(s.queues[queue], func(other string) bool { return other == owner })
}

// waiting returns who waits for the fair lock called x.
func (s *fakeServer) waiting() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queues["redisson_lock_queue:{x}"])
}
