package primitives_test

import (
	"slices"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// fakePermits is how many permits the fake server's permit semaphore has.
const fakePermits = 3

// idsIn returns the ids of an owner.
func idsIn(owner string) (ids []string) {
	for id := range slices.Chunk([]byte(owner), 16) {
		ids = append(ids, string(id))
	}
	return ids
}

// freePermits drops the leases that have ended, and returns how many permits are free, and when the next
// lease ends.
func (s *fakeServer) freePermits() (free int, next time.Duration) {
	next = -time.Millisecond
	for id, ends := range s.leased {
		left := time.Until(ends)
		if left <= 0 {
			delete(s.leased, id)
		} else if next < 0 || left < next {
			next = left
		}
	}
	return fakePermits - len(s.leased), next
}

// lendPermits does what permit_acquire does.
func (s *fakeServer) lendPermits(owner, lease string) backend.Reply {
	ids := idsIn(owner)
	free, next := s.freePermits()
	if free < len(ids) {
		return permitReply(false, free, next)
	}
	for _, id := range ids {
		s.leased[id] = time.Now().Add(milliseconds(lease))
	}
	return permitReply(true, free-len(ids), 0)
}

func permitReply(taken bool, left int, wait time.Duration) backend.Reply {
	return backend.ArrayReply([]backend.Reply{
		truth(taken), backend.IntegerReply(int64(left)), backend.IntegerReply(wait.Milliseconds()), {},
	})
}

// returnPermits does what permit_release does, for those who own what they return.
func (s *fakeServer) returnPermits(owner, channel string) backend.Reply {
	s.freePermits()
	held := 0
	for _, id := range idsIn(owner) {
		if _, ok := s.leased[id]; ok {
			held++
			delete(s.leased, id)
		}
	}
	if held > 0 {
		s.publish(channel, strconv.Itoa(fakePermits-len(s.leased)))
	}
	return truth(held == len(idsIn(owner)))
}

// returnAll does what permit_release_all does.
func (s *fakeServer) returnAll(args []string) backend.Reply {
	statuses := make([]backend.Reply, len(args)/2)
	for i := range statuses {
		statuses[i] = s.returnPermits(args[i], args[len(statuses)+i])
	}
	return backend.ArrayReply(statuses)
}

// renewPermits does what permit_renew does.
func (s *fakeServer) renewPermits(lease string, owners []string) backend.Reply {
	s.freePermits()
	statuses := make([]backend.Reply, len(owners))
	for i, owner := range owners {
		ids := idsIn(owner)
		held := !slices.ContainsFunc(ids, func(id string) bool { return s.leased[id].IsZero() })
		for _, id := range ids {
			if held {
				s.leased[id] = time.Now().Add(milliseconds(lease))
			}
		}
		statuses[i] = truth(held)
	}
	return backend.ArrayReply(statuses)
}

// takenPermits returns how many permits have leases that run.
func (s *fakeServer) takenPermits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	free, _ := s.freePermits()
	return fakePermits - free
}
