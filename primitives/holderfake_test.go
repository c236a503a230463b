package primitives_test

import (
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// holderScript does what the scripts of locks with Metadata do. It reports false for other scripts.
func (s *fakeServer) holderScript(script string, keys, args []string) (reply backend.Reply, known bool) {
	switch script {
	case "holder_acquire":
		return s.acquireDescribed(keys, args), true
	case "holder_renew":
		return s.renew(everySecond(keys), args[0], args[1:]), true
	case "holder_release":
		return s.releaseDescribed(keys[0], keys[1], args[0], args[2]), true
	case "holder_release_all":
		return s.releaseAllDescribed(keys, args[1:]), true
	case "lock_holder":
		owner := backend.Reply{}
		if l := s.live(keys[0]); l.owner != "" {
			owner = backend.StringReply(l.owner)
		}
		return backend.ArrayReply([]backend.Reply{owner, backend.StringReply(s.described[keys[1]])}), true
	}
	return backend.Reply{}, false
}

// stored returns what a holder of the lock called name has stored.
func (s *fakeServer) stored(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.described["hasp_lock_holder:{"+name+"}"]
}

// everySecond returns the first of each pair.
func everySecond(pairs []string) (firsts []string) {
	for i := 0; i < len(pairs); i += 2 {
		firsts = append(firsts, pairs[i])
	}
	return firsts
}

func (s *fakeServer) acquireDescribed(keys, args []string) backend.Reply {
	owner, description, granted := args[0], args[3], args[6]
	token, left := s.acquire(keys[0], keys[1], owner, args[1])
	if token == "" {
		return backend.IntegerReply(-2 - left)
	}
	s.described[keys[2]] = owner + "\n" + strconv.FormatInt(time.Now().UnixMicro(), 10) + "\n" + description
	s.publish(granted, owner)
	return backend.StringReply(token)
}

// releaseDescribed is release for a lock with Metadata.
func (s *fakeServer) releaseDescribed(lock, holder, owner, channel string) backend.Reply {
	heard := 1 + s.listeners(channel)
	if freed, _ := s.release(lock, channel, func(l fakeLock) bool { return l.owner == owner }).Bool(); !freed {
		return backend.IntegerReply(0)
	}
	delete(s.described, holder)
	return backend.IntegerReply(heard)
}

func (s *fakeServer) releaseAllDescribed(keys, args []string) backend.Reply {
	statuses := make([]backend.Reply, len(keys)/2)
	for i := range statuses {
		owner, channel := args[i], args[len(statuses)+i]
		freed, _ := s.releaseDescribed(keys[2*i], keys[2*i+1], owner, channel).Int()
		statuses[i] = truth(freed > 0)
	}
	return backend.ArrayReply(statuses)
}
