package inspect

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/primitives/extend"
)

// channelsOf has how the channels begin that all clients of a kind hear.
var channelsOf = map[Kind]string{
	Lock:              "redisson_lock__channel",
	PeriodicJob:       "redisson_lock__channel",
	Election:          "hasp_lock_holder_ch",
	ReadWriteLock:     "redisson_rwlock",
	Semaphore:         "redisson_sc",
	PermitSemaphore:   "redisson_sc",
	CountingSemaphore: "hasp_semaphore",
	RateLimiter:       "hasp_rate_limiter",
}

// channels returns the channels on which clients announce what they do to objects of o's name.
func channels(o *extend.Object, all []Object) (names []string) {
	for _, found := range all {
		for _, kind := range append([]Kind{found.Kind}, found.Possible...) {
			if prefix := channelsOf[kind]; prefix != "" {
				names = append(names, extend.SideName(prefix, o.Key()))
			} else if kind == CountDownLatch {
				names = append(names, latchChannel(o))
			}
		}
		names = append(names, turns(o.Key(), found)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// latchChannel returns the channel of a latch: see the method channel of primitives.CountDownLatch.
func latchChannel(o *extend.Object) string {
	const prefix = "redisson_countdownlatch__channel__"
	if o.Core().Capabilities().Sharded {
		return prefix + extend.Tagged(o.Key())
	}
	return prefix + "{" + o.Key() + "}"
}

// turns returns the channels of owners that get messages of their own: the first waiter, and the holder of a Mutex, which
// hears that it was taken away.
func turns(key string, o Object) (names []string) {
	var owners []string
	if o.Queue != nil && len(o.Queue.First) > 0 {
		owners = append(owners, o.Queue.First[0].Owner)
	}
	if o.Kind == Mutex && len(o.Holders) > 0 {
		owners = append(owners, o.Holders[0].Owner)
	}
	for _, owner := range owners {
		switch o.Kind {
		case FairLock:
			names = append(names, extend.SideName("redisson_lock__channel", key)+":"+owner)
		case CountingSemaphore:
			names = append(names, extend.SideName("hasp_semaphore", key)+":"+owner)
		case Mutex:
			group := owner[:max(0, strings.LastIndexByte(owner, ':'))]
			names = append(names, extend.SideName("hasp_mutex", key)+":granted:"+group)
		}
	}
	return names
}
