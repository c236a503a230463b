package inspect

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hasp-go/hasp/primitives/extend"
)

var (
	// sides begin the names of keys before the tagged key of an object, and suffixes end them behind it.
	sides = []string{
		"redisson_lock_token", "hasp_lock_holder", "redisson_lock_queue", "redisson_lock_timeout", "hasp_lock_deadline",
		"hasp_rwlock_writer", "hasp_latch_parts", "hasp_mutex",
	}
	suffixes = []string{":completed", ":memo", ":timeout", ":owner", ":counter", ":value", ":permits", ":allocation"}

	// mutexSuffixes end the names of keys of a mutex.
	mutexSuffixes = []string{":token", ":queue", ":signs"}
)

// nameOf returns the name of the object that a key is of, if it is of one, and whether it is one of its side keys.
func nameOf(key, prefix string) (name string, side, ok bool) {
	tagged, side := cutSide(key)
	if side {
		key = untagged(tagged)
	}
	if strings.Contains(key, ":rwlock_timeout:") {
		return "", false, false // A reader's lease, whose lock has its own key.
	}
	name, ok = strings.CutPrefix(key, prefix)
	return name, side, ok
}

// cutSide returns the tagged key of the object that a side key is of.
func cutSide(key string) (tagged string, ok bool) {
	for _, side := range sides {
		if rest, is := strings.CutPrefix(key, side+":"); is && strings.Contains(rest, "{") {
			if side == "hasp_mutex" {
				rest = cutOne(rest, mutexSuffixes)
			}
			return rest, true
		}
	}
	tagged = cutOne(key, suffixes)
	return tagged, tagged != key && strings.Contains(tagged, "{")
}

// cutOne returns text without the suffix that it has.
func cutOne(text string, suffixes []string) string {
	i := slices.IndexFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(text, suffix) })
	if i < 0 {
		return text
	}
	return strings.TrimSuffix(text, suffixes[i])
}

// untagged returns the key that is tagged as a whole. It is the reverse of [extend.Tagged].
func untagged(tagged string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(tagged, "{"), "}")
	if len(inner) == len(tagged)-2 && !strings.Contains(inner, "{") {
		return inner
	}
	return tagged
}

// globbed finds what a pattern must escape.
var globbed = regexp.MustCompile(`[*?\[\]\\^-]`)

// glob returns the expression of a pattern as of the command KEYS.
func glob(pattern string) (*regexp.Regexp, error) {
	var b strings.Builder
	for rest := pattern; rest != ""; {
		part := globPart.FindString(rest)
		rest = rest[len(part):]
		switch {
		case part == "*":
			b.WriteString(".*")
		case part == "?":
			b.WriteString(".")
		case part[0] == '[' && len(part) > 1:
			b.WriteString(part)
		default:
			b.WriteString(regexp.QuoteMeta(strings.TrimPrefix(part, `\`)))
		}
	}
	return regexp.Compile(`(?s)\A` + b.String() + `\z`)
}

// globPart is one part of a pattern: a class, an escaped character, or a character.
var globPart = regexp.MustCompile(`(?s)\A(?:\[[^\]]+\]|\\.|.)`)

// channelsOf has how the channels begin that all clients of a kind hear, with spaces between them.
var channelsOf = map[Kind]string{
	Lock:              "redisson_lock__channel",
	PeriodicJob:       "redisson_lock__channel",
	Memo:              "redisson_lock__channel",
	Election:          "redisson_lock__channel hasp_lock_holder_ch",
	PlainLock:         "hasp_plain_lock",
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
			for prefix := range strings.FieldsSeq(channelsOf[kind]) {
				names = append(names, extend.SideName(prefix, o.Key()))
			}
			if kind == CountDownLatch || kind == PartsLatch {
				names = append(names, latchChannel(o))
			}
		}
		names = append(names, turns(o.Key(), found)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// rights are what the server's user needs to read and to watch objects.
var rights = sync.OnceValue(func() *extend.Rights {
	keys, heard := []string{"$", "@:owner:rwlock_timeout:1"}, []string{"redisson_countdownlatch__channel__@", "hasp_mutex:@"}
	for _, side := range sides {
		keys = append(keys, side+":@")
	}
	for _, suffix := range suffixes {
		keys = append(keys, "@"+suffix)
	}
	for _, prefixes := range channelsOf {
		for prefix := range strings.FieldsSeq(prefixes) {
			heard = append(heard, prefix+":@")
		}
	}
	slices.Sort(heard)
	return &extend.Rights{
		Commands: "getrange hlen hscan llen lrange pttl scan strlen time zcard zcount zrange",
		Keys:     strings.Join(keys, " "), Channels: strings.Join(slices.Compact(heard), " "), Reads: true,
	}
})

// latchChannel returns the channel of a latch: see latchSet of package primitives.
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
