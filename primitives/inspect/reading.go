package inspect

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// most is how many fields, elements or members of a large value are read.
const most = 10

// reading is what the keys of a name hold.
type reading struct {
	client, name, key string
	runner            backend.ScriptRunner
	now               time.Time // the server's, of the last read
	found             map[string]value
}

// value is what a key holds.
type value struct {
	key, kind     string
	ttl           time.Duration // negative: no expiry
	size          int64
	ahead, behind int64 // members of a sorted set whose score, or negated score, is a time to come
	texts         []string
}

// side returns the name of a key with the object's key as its hash tag.
func (r *reading) side(prefix string) string { return extend.SideName(prefix, r.key) }

// behind returns the name of a key that begins with the object's.
func (r *reading) behind(suffix string) string { return extend.Tagged(r.key) + suffix }

// keys returns the names of all keys that objects of the name can have, but for those with an owner's name.
func (r *reading) keys() []string {
	all := []string{r.key}
	for _, side := range sides {
		all = append(all, r.side(side))
	}
	for _, suffix := range mutexSuffixes {
		all = append(all, r.side("hasp_mutex")+suffix)
	}
	for _, suffix := range suffixes {
		all = append(all, r.behind(suffix))
	}
	return all
}

// read reads keys, at one time.
func (r *reading) read(ctx context.Context, keys ...string) error {
	out, err := script.InspectKeys(ctx, r.runner, keys, most)
	if err != nil {
		return err
	}
	if r.found == nil {
		r.found = map[string]value{}
	}
	r.now = time.UnixMicro(out.Now)
	texts := out.Texts
	for i, key := range keys {
		n := out.Counts[i]
		r.found[key] = value{
			key: key, kind: out.Kinds[i], ttl: time.Duration(out.Ttls[i]) * time.Millisecond, size: out.Sizes[i],
			ahead: out.Ahead[i], behind: out.Behind[i], texts: texts[:n],
		}
		texts = texts[n:]
	}
	return nil
}

// of returns what a key holds, if that is of a kind. Otherwise it is a value without texts.
func (r *reading) of(key, kind string) value {
	if v := r.found[key]; v.kind == kind {
		return v
	}
	return value{key: key, kind: "none", ttl: -1}
}

func (v value) is() bool { return len(v.texts) > 0 }

func (v value) text() string {
	if v.is() {
		return v.texts[0]
	}
	return ""
}

func (v value) number() *int64 { return number(v.text()) }

// field returns the value of a field, if it was read.
func (v value) field(name string) (string, bool) {
	for _, f := range v.pairs() {
		if f[0] == name {
			return f[1], true
		}
	}
	return "", false
}

func (v value) pairs() [][2]string {
	all := make([][2]string, 0, len(v.texts)/2)
	for i := 0; i+1 < len(v.texts); i += 2 {
		all = append(all, [2]string{v.texts[i], v.texts[i+1]})
	}
	return all
}

func (r *reading) expires(v value) *time.Time {
	if v.ttl < 0 {
		return nil
	}
	return ref(r.now.Add(v.ttl))
}

// holder returns the holder of an owner whose lease ends at a time; nil: unknown.
func (r *reading) holder(owner string, until *time.Time) Holder {
	h := Holder{Owner: owner, Mine: r.mine(owner), Revoked: owner == script.Nobody, Until: until}
	if until != nil {
		h.Remaining = ref(max(0, until.Sub(r.now)))
	}
	return h
}

// mine reports whether an owner is of the client that asked.
func (r *reading) mine(owner string) bool {
	rest, is := strings.CutPrefix(owner, r.client)
	return is && rest != "" && strings.Contains(":.", rest[:1])
}

// object returns an object with the keys that exist of these; the first is the main one.
func (r *reading) object(kind Kind, values ...value) Object {
	o := Object{Name: r.name, Kind: kind, Expires: r.expires(values[0])}
	for _, v := range values {
		if v.kind != "none" {
			o.Keys = append(o.Keys, v.key)
		}
	}
	return o
}

// number returns the whole number in a text, or nil.
func number(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// milliseconds returns the time of a score, or nil if it is none or has no meaning as a time.
func milliseconds(score string) *time.Time {
	ms, err := strconv.ParseFloat(score, 64)
	if err != nil || ms <= 0 || ms > 253402300799999 { // the year 9999; a lease without an expiry is later
		return nil
	}
	return ref(time.UnixMilli(int64(ms)))
}

func ref[T any](v T) *T { return &v }
