package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"regexp"
	"slices"
	"sync"

	"github.com/hasp-go/hasp/primitives"
)

const (
	// defaultStep is the default of [ListOptions.Step].
	defaultStep = 500

	// together is how many names are read at one time.
	together = 64
)

// ListOptions are the options of [List]. Nil means the defaults.
type ListOptions struct {
	// Step is how many keys the server looks at in one step. A larger one takes fewer round trips, and blocks the server
	// for longer. Zero means 500.
	Step int

	// Plain lists also keys that may be anybody's, such as a number that may be an AtomicLong.
	Plain bool

	// Turn is called before the keys of each step are read. It may block: then a list costs the server less at a time. Its
	// error ends the list.
	Turn func(ctx context.Context) error

	_ struct{}
}

// List yields the objects whose names match pattern, a pattern as of the command KEYS without the client's KeyPrefix; ""
// matches all. It finds them by SCAN on each primary, in steps, and reads each as [Describe] does, so a list is of no
// one moment: an object that exists all the time is yielded once, one that comes or goes meanwhile may be missing. It
// leaves out the keys of other programs, and those without the prefix. It keeps a hash of each object that it has
// yielded, less than 40 bytes, and nothing of other keys.
//
// List knows side keys by their names. So it does not find an object whose own name is like that of a side key, such as
// {a}:owner: avoid such names. The names x and {x} have the same side keys: an object without its main key, such as a
// free lock that keeps its token, is yielded as x.
//
// List blocks while a step is under way. It ends after an error: [primitives.ErrNotSupported] if the backend is no
// [backend.Scanner], a [*primitives.FieldError] for a negative Step or a pattern that is none, that of ctx, or one of
// Describe, of the scan or of Turn.
//
// The server's user needs the permissions of Describe, whose +@read has SCAN, on all keys that the pattern finds.
func List(ctx context.Context, client *primitives.Client, pattern string, opts *ListOptions) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		nameless := objectOf(client, "")
		l := &listing{
			client: client, prefix: nameless.Key(), pattern: cmp.Or(pattern, "*"),
			opts: cmp.Or(opts, new(ListOptions)), seed: maphash.MakeSeed(), listed: map[uint64]struct{}{},
		}
		if err := l.run(ctx, yield); err != nil {
			yield(Object{}, fmt.Errorf("list objects %q: %w", pattern, err))
		}
	}
}

// listing is one call of List.
type listing struct {
	client  *primitives.Client
	prefix  string // of all keys
	pattern string
	matches *regexp.Regexp
	opts    *ListOptions
	seed    maphash.Seed
	listed  map[uint64]struct{} // the hashes of what was yielded
}

// run yields the objects, and returns an error that ends the list.
func (l *listing) run(ctx context.Context, yield func(Object, error) bool) error {
	step := cmp.Or(l.opts.Step, defaultStep)
	if step < 0 {
		return &primitives.FieldError{Field: "Step", Problem: fmt.Sprintf("%d is negative", step)}
	}
	matches, err := glob(l.pattern)
	if err != nil {
		return &primitives.FieldError{Field: "pattern", Problem: err.Error()}
	}
	l.matches = matches
	for keys, err := range l.client.Core().Scan(ctx, "*"+globbed.ReplaceAllString(l.prefix, `\$0`)+l.pattern+"*", step) {
		if err == nil && l.opts.Turn != nil {
			err = l.opts.Turn(ctx)
		}
		if err != nil {
			return err
		}
		for part := range slices.Chunk(l.candidates(keys), together) {
			found, err := l.read(ctx, part)
			if err != nil {
				return err
			}
			if !l.yieldNew(found, yield) {
				return nil
			}
		}
	}
	return nil
}

// candidate is a name that a key may be of.
type candidate struct {
	key, name string
	side      bool // it is no main key
}

// candidates returns the names of keys, if they match.
func (l *listing) candidates(keys []string) (all []candidate) {
	for _, key := range keys {
		if name, side, ok := nameOf(key, l.prefix); ok && l.matches.MatchString(name) {
			all = append(all, candidate{key, name, side})
		}
	}
	return all
}

// read returns the objects of candidates, side by side.
func (l *listing) read(ctx context.Context, part []candidate) ([]Object, error) {
	found, errs := make([][]Object, len(part)), make([]error, len(part))
	var reads sync.WaitGroup
	for i, c := range part {
		reads.Go(func() { found[i], errs[i] = l.objects(ctx, c) })
	}
	reads.Wait()
	return slices.Concat(found...), cmp.Or(errs...)
}

// objects returns the objects of a candidate. A main key is read alone first: most are of other programs.
func (l *listing) objects(ctx context.Context, c candidate) (all []Object, err error) {
	if !c.side {
		all, _, err = describe(ctx, l.client, c.name, func(r *reading) []string { return []string{r.key} })
	}
	shows := func(o Object) bool { return l.shows(o, c.key) }
	if c.side || slices.ContainsFunc(all, shows) {
		all, err = Describe(ctx, l.client, c.name)
	}
	if errors.As(err, new(*primitives.FieldError)) { // No object can have this name.
		return nil, nil
	}
	return slices.DeleteFunc(all, func(o Object) bool { return !shows(o) }), err
}

// shows reports whether an object is one of the list, by a key of its own.
func (l *listing) shows(o Object, key string) bool {
	return o.Kind != Unknown && slices.Contains(o.Keys, key) && (l.opts.Plain || !slices.Contains(o.Possible, Unknown))
}

// yieldNew yields the objects that were not yielded before, and reports whether to go on. SCAN may return a key twice,
// and an object has several.
func (l *listing) yieldNew(found []Object, yield func(Object, error) bool) bool {
	for _, o := range found {
		id := maphash.String(l.seed, familyOf(o.Kind)+" "+o.Name)
		if _, before := l.listed[id]; before {
			continue
		}
		l.listed[id] = struct{}{}
		if !yield(o, nil) {
			return false
		}
	}
	return true
}
