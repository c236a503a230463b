package primitives_test

import (
	"slices"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// fakeCounting is a counting semaphore of the fakeServer.
type fakeCounting struct {
	holds map[string]time.Time // when each holder's lease ends
	queue []string             // of those who wait ByArrival; nobody is ever taken for dead
}

// countingScript does what the scripts of counting semaphores do. It reports false for other scripts.
func (s *fakeServer) countingScript(script string, keys, args []string) (reply backend.Reply, known bool) {
	c := s.counting[keys[0]]
	if c == nil {
		c = &fakeCounting{holds: map[string]time.Time{}}
		s.counting[keys[0]] = c
	}
	c.expire()
	switch script {
	case "counting_acquire":
		return c.acquireByTime(args[0], number(args[1]), milliseconds(args[2])), true
	case "counting_release":
		return s.releaseByTime(c, args[0], args[2]), true
	case "counting_release_all":
		return s.releaseAllByTime(keys, args[1:]), true
	case "counting_renew":
		return s.renewCounting(keys, milliseconds(args[0]), args[1:]), true
	case "counting_holders":
		return backend.IntegerReply(int64(len(c.holds))), true
	case "arrival_acquire":
		return s.acquireByArrival(c, args), true
	case "arrival_release":
		return s.releaseByArrival(c, args[0], number(args[1]), args[3]), true
	case "arrival_release_all":
		return s.releaseAllByArrival(keys, args), true
	}
	return backend.Reply{}, false
}

func (c *fakeCounting) expire() {
	for owner, end := range c.holds {
		if !time.Now().Before(end) {
			delete(c.holds, owner)
		}
	}
}

// roomIn is how long the first of the holds still has.
func (c *fakeCounting) roomIn() backend.Reply {
	var first time.Time
	for _, end := range c.holds {
		if first.IsZero() || end.Before(first) {
			first = end
		}
	}
	return backend.IntegerReply(time.Until(first).Milliseconds())
}

// hold lets an owner in, and returns the number of its grant.
func (c *fakeCounting) hold(owner string, lease time.Duration) backend.Reply {
	c.holds[owner] = time.Now().Add(lease)
	return backend.StringReply(strconv.FormatInt(time.Now().UnixMicro(), 10))
}

func (c *fakeCounting) acquireByTime(owner string, limit int, lease time.Duration) backend.Reply {
	room := limit - len(c.holds)
	if room <= 0 {
		return backend.ArrayReply([]backend.Reply{{}, c.roomIn(), backend.IntegerReply(0)})
	}
	return backend.ArrayReply([]backend.Reply{
		c.hold(owner, lease), backend.IntegerReply(0), backend.IntegerReply(int64(room - 1)),
	})
}

func (s *fakeServer) releaseByTime(c *fakeCounting, owner, channel string) backend.Reply {
	_, held := c.holds[owner]
	if held {
		delete(c.holds, owner)
		s.publish(channel, "1")
	}
	return truth(held)
}

func (s *fakeServer) releaseAllByTime(keys, args []string) backend.Reply {
	statuses := make([]backend.Reply, len(keys))
	for i, key := range keys {
		statuses[i] = s.releaseByTime(s.counting[key], args[i], args[len(keys)+i])
	}
	return backend.ArrayReply(statuses)
}

func (s *fakeServer) renewCounting(keys []string, lease time.Duration, owners []string) backend.Reply {
	statuses := make([]backend.Reply, len(keys))
	for i, key := range keys {
		_, held := s.counting[key].holds[owners[i]]
		if held {
			s.counting[key].holds[owners[i]] = time.Now().Add(lease)
		}
		statuses[i] = truth(held)
	}
	return backend.ArrayReply(statuses)
}

func (s *fakeServer) acquireByArrival(c *fakeCounting, args []string) backend.Reply {
	owner, limit, turn := args[0], number(args[1]), args[5]
	place := slices.Index(c.queue, owner)
	if len(c.holds) < limit && (len(c.queue) == 0 || place == 0) {
		c.leave(owner)
		grant := c.hold(owner, milliseconds(args[2]))
		s.wakeFirst(c, limit, turn)
		return backend.ArrayReply([]backend.Reply{grant, backend.IntegerReply(0)})
	}
	if queues := args[3] != ""; queues && place < 0 {
		c.queue = append(c.queue, owner)
	}
	if slices.Index(c.queue, owner) == 0 {
		return backend.ArrayReply([]backend.Reply{{}, c.roomIn()})
	}
	return backend.ArrayReply([]backend.Reply{{}, backend.IntegerReply(-1)})
}

func (c *fakeCounting) leave(owner string) {
	c.queue = slices.DeleteFunc(c.queue, func(other string) bool { return other == owner })
}

// wakeFirst wakes the first who waits, if there is room.
func (s *fakeServer) wakeFirst(c *fakeCounting, limit int, turn string) {
	if len(c.holds) < limit && len(c.queue) > 0 {
		s.publish(turn+":"+c.queue[0], "0")
	}
}

func (s *fakeServer) releaseByArrival(c *fakeCounting, owner string, limit int, turn string) backend.Reply {
	_, held := c.holds[owner]
	delete(c.holds, owner)
	c.leave(owner)
	s.wakeFirst(c, limit, turn)
	return truth(held)
}

func (s *fakeServer) releaseAllByArrival(keys, args []string) backend.Reply {
	statuses, rest := make([]backend.Reply, len(keys)/2), args[2:]
	for i := range statuses {
		turn := rest[len(statuses)+i]
		statuses[i] = s.releaseByArrival(s.counting[keys[2*i]], rest[i], number(args[0]), turn)
	}
	return backend.ArrayReply(statuses)
}

// queued returns who waits for the counting semaphore of that key.
func (s *fakeServer) queued(key string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.counting[key].queue)
}

// holding returns how many hold the counting semaphore of that key.
func (s *fakeServer) holding(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counting[key].expire()
	return len(s.counting[key].holds)
}
