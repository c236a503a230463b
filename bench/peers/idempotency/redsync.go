package idempotency

import (
	"sync"

	"github.com/go-redsync/redsync/v4"
)

// redsyncLocker is a lock for fiber's middleware, which has none for several processes: redsync's, of 8 s.
type redsyncLocker struct {
	locks *redsync.Redsync

	mu   sync.Mutex
	held map[string]*redsync.Mutex
}

// Lock waits for the lock of a key.
func (l *redsyncLocker) Lock(key string) error {
	mutex := l.locks.NewMutex("lock:"+key, redsync.WithTries(1000))
	if err := mutex.Lock(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[key] = mutex
	return nil
}

// Unlock frees the lock of a key.
func (l *redsyncLocker) Unlock(key string) error {
	l.mu.Lock()
	mutex := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	_, err := mutex.Unlock()
	return err
}
