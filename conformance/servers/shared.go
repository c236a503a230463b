package servers

import (
	"errors"
	"sync"
)

// shared holds what all tests of this process share.
var shared = struct {
	sync.Mutex
	items map[sharedKey]*sharedItem
}{items: map[sharedKey]*sharedItem{}}

type sharedKey struct {
	kind    Kind
	masters int // 0: a server alone
}

type closer interface{ Close() error }

type sharedItem struct {
	once  sync.Once
	value closer
	err   error
}

// Shared returns a server with default options that all tests of this process share, started by
// the first call. Tests must use keys of their own, and neither stop it nor change its
// configuration. TestMain should call [CloseShared] after m.Run.
func Shared(tb TB, kind Kind) *Server {
	tb.Helper()
	s, _ := share(tb, sharedKey{kind: kind}, func() (closer, error) {
		return Launch(kind, nil)
	}).(*Server)
	tb.Cleanup(func() { s.showLog(tb) })
	return s
}

// share returns the item of key, made by the first caller while others wait for it.
func share(tb TB, key sharedKey, make func() (closer, error)) closer {
	tb.Helper()
	Need(tb, key.kind)
	shared.Lock()
	item := shared.items[key]
	if item == nil {
		item = &sharedItem{}
		shared.items[key] = item
	}
	shared.Unlock()
	item.once.Do(func() { item.value, item.err = make() })
	if item.err != nil {
		tb.Fatalf("starting %s: %v", key.kind, item.err)
	}
	return item.value
}

// CloseShared ends what [Shared] and [SharedCluster] have started. It is for TestMain.
func CloseShared() error {
	shared.Lock()
	defer shared.Unlock()
	var err error
	for key, item := range shared.items {
		if item.err == nil {
			err = errors.Join(err, item.value.Close())
		}
		delete(shared.items, key)
	}
	return err
}
