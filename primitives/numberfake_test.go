package primitives_test

import (
	"cmp"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// numberScript does what the scripts of latches, numbers, id generators and semaphores do. It reports false for
// other scripts.
func (s *fakeServer) numberScript(script string, keys, args []string) (reply backend.Reply, known bool) {
	key := keys[0]
	switch script {
	case "latch_set":
		return s.setLatch(key, args), true
	case "latch_count_down":
		return s.countDown(key, args[1]), true
	case "latch_count":
		return backend.IntegerReply(int64(s.numbers[key])), true
	case "latch_is_set":
		return truth(s.numbers[key] > 0), true
	case "long_add", "double_add":
		s.numbers[key] += double(args[0])
		return backend.StringReply(decimal(s.numbers[key])), true
	case "id_init":
		return s.initIDs(keys, args), true
	case "id_block":
		return s.takeIDs(keys), true
	case "semaphore_acquire":
		return s.takePermits(key, number(args[0])), true
	case "semaphore_set_and_acquire":
		if _, made := s.permits[key]; !made {
			s.permits[key] = number(args[1])
		}
		return s.takePermits(key, number(args[0])), true
	case "periodic_acquire":
		return s.acquirePeriod(keys, args), true
	case "periodic_complete":
		return s.completePeriod(keys, args), true
	case "semaphore_add":
		s.permits[key] += number(args[0])
		return truth(true), true
	}
	return backend.Reply{}, false
}

func (s *fakeServer) setLatch(key string, args []string) backend.Reply {
	free := s.numbers[key] == 0
	if free {
		s.numbers[key] = double(args[0])
		s.publish(args[3], "1")
	}
	return truth(free)
}

func (s *fakeServer) countDown(key, channel string) backend.Reply {
	s.numbers[key] = max(s.numbers[key]-1, 0)
	if s.numbers[key] == 0 {
		s.publish(channel, "0")
	}
	return backend.IntegerReply(int64(s.numbers[key]))
}

func (s *fakeServer) takePermits(key string, n int) backend.Reply {
	enough := s.permits[key] >= n
	if enough {
		s.permits[key] -= n
	}
	return backend.ArrayReply([]backend.Reply{
		truth(enough), backend.IntegerReply(int64(s.permits[key])),
	})
}

// acquirePeriod is acquire for a periodic job. It also returns the server's time.
func (s *fakeServer) acquirePeriod(keys, args []string) backend.Reply {
	now := time.Now().UnixMilli()
	answer := backend.IntegerReply(0)
	last, done := s.numbers[keys[2]]
	if float64(now) >= double(args[4]) && (!done || last < double(args[3])) {
		token, left := s.acquire(keys[0], keys[1], args[0], args[1])
		answer = backend.StringReply(token)
		if token == "" {
			answer = backend.IntegerReply(-2 - left)
		}
	}
	return backend.ArrayReply([]backend.Reply{answer, backend.IntegerReply(now)})
}

func (s *fakeServer) completePeriod(keys, args []string) backend.Reply {
	if s.live(keys[0]).owner != args[0] {
		return truth(false)
	}
	if last, ok := s.numbers[keys[1]]; !ok || last < double(args[1]) {
		s.numbers[keys[1]] = double(args[1])
	}
	return truth(true)
}

// idBlockSize is that of generators that were not initialized.
const idBlockSize = 50

func (s *fakeServer) initIDs(keys, args []string) backend.Reply {
	free := s.ids[keys[0]] == 0 && s.ids[keys[1]] == 0
	if free {
		s.ids[keys[0]], s.ids[keys[1]] = int64(number(args[0]))-1, int64(number(args[1]))
	}
	return truth(free)
}

func (s *fakeServer) takeIDs(keys []string) backend.Reply {
	first, size := s.ids[keys[0]]+1, cmp.Or(s.ids[keys[1]], idBlockSize)
	s.ids[keys[0]] += size
	return backend.ArrayReply([]backend.Reply{
		backend.StringReply(strconv.FormatInt(first, 10)), backend.StringReply(strconv.FormatInt(size, 10)),
	})
}

func double(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return x
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
