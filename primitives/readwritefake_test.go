package primitives_test

import (
	"maps"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// fakeReadWriteLock is a read-write lock of the fakeServer.
type fakeReadWriteLock struct {
	writer  fakeLock
	readers map[string]time.Time // when each reader's lease ends
}

// readWrite does what the scripts of read-write locks do. It reports false for other scripts.
func (s *fakeServer) readWrite(script string, keys, args []string) (reply backend.Reply, known bool) {
	l := s.readWriteLocks[keys[0]]
	if l == nil {
		l = &fakeReadWriteLock{readers: map[string]time.Time{}}
		s.readWriteLocks[keys[0]] = l
	}
	l.expire()
	switch script {
	case "read_acquire":
		return s.readAcquire(l, keys[2], args), true
	case "read_release":
		return s.readRelease(l, args[0], args[2]), true
	case "read_renew":
		return l.readRenew(args), true
	case "write_acquire":
		return s.writeAcquire(l, keys[2], args), true
	case "write_release":
		return s.writeRelease(l, args[0], args[2]), true
	case "write_renew":
		return l.writeRenew(args), true
	}
	return backend.Reply{}, false
}

func (l *fakeReadWriteLock) expire() {
	if !time.Now().Before(l.writer.expires) {
		l.writer = fakeLock{}
	}
	for owner, end := range l.readers {
		if !time.Now().Before(end) {
			delete(l.readers, owner)
		}
	}
}

func (s *fakeServer) readAcquire(l *fakeReadWriteLock, token string, args []string) backend.Reply {
	if l.writer.owner != "" && l.writer.owner != args[1] {
		return fakeRefusal(time.Until(l.writer.expires), truth(false))
	}
	l.readers[args[0]] = time.Now().Add(milliseconds(args[2]))
	return backend.ArrayReply([]backend.Reply{backend.IntegerReply(s.tokens[token]), truth(false), truth(false)})
}

func (s *fakeServer) readRelease(l *fakeReadWriteLock, owner, channel string) backend.Reply {
	_, held := l.readers[owner]
	delete(l.readers, owner)
	if len(l.readers) == 0 && l.writer.owner == "" {
		s.publish(channel, "0")
	}
	return truth(held)
}

func (l *fakeReadWriteLock) readRenew(args []string) backend.Reply {
	var statuses []backend.Reply
	for _, owner := range args[1:] {
		_, held := l.readers[owner]
		if held {
			l.readers[owner] = time.Now().Add(milliseconds(args[0]))
		}
		statuses = append(statuses, truth(held))
	}
	return backend.ArrayReply(statuses)
}

func (s *fakeServer) writeAcquire(l *fakeReadWriteLock, token string, args []string) backend.Reply {
	ends := slices.SortedFunc(maps.Values(l.readers), time.Time.Compare)
	switch {
	case l.writer.owner != "":
		return fakeRefusal(time.Until(l.writer.expires), truth(false))
	case len(ends) > 0:
		return fakeRefusal(time.Until(ends[0]), truth(true))
	}
	l.writer = fakeLock{args[0], time.Now().Add(milliseconds(args[1]))}
	s.tokens[token]++
	return backend.ArrayReply([]backend.Reply{
		backend.IntegerReply(s.tokens[token]), truth(false), truth(false),
	})
}

func (s *fakeServer) writeRelease(l *fakeReadWriteLock, owner, channel string) backend.Reply {
	held := l.writer.owner == owner
	if held {
		l.writer = fakeLock{}
		s.publish(channel, "1")
	}
	return truth(held)
}

func (l *fakeReadWriteLock) writeRenew(args []string) backend.Reply {
	held := l.writer.owner == args[1]
	if held {
		l.writer.expires = time.Now().Add(milliseconds(args[0]))
	}
	return backend.ArrayReply([]backend.Reply{truth(held)})
}

// fakeRefusal has no token.
func fakeRefusal(wait time.Duration, more ...backend.Reply) backend.Reply {
	return backend.ArrayReply(append(
		[]backend.Reply{{}, backend.IntegerReply(wait.Milliseconds())}, more...))
}
