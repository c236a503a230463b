package primitives

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/leases"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// PermitID is the unique id of a permit of a [PermitSemaphore]. Values can be compared.
type PermitID [idSize]byte

const idSize = 16

// String returns the id as 32 hexadecimal digits, as Redisson's API does.
func (id PermitID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText implements [encoding.TextMarshaler]. It returns the text that String returns.
func (id PermitID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. It reads the text that String returns.
func (id *PermitID) UnmarshalText(text []byte) error {
	parsed, err := ParsePermitID(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

// ParsePermitID reads the text that String returns, also in capitals. It returns a [*FieldError] for any other text.
func ParsePermitID(text string) (id PermitID, err error) {
	bytes, err := hex.DecodeString(text)
	if err != nil || len(bytes) != idSize {
		return id, &FieldError{Field: "id", Problem: fmt.Sprintf("%q is not 32 hexadecimal digits", text)}
	}
	return PermitID(bytes), nil
}

// IDs returns the ids of the permits of a lease of s, even if the lease has ended. A lease of another semaphore, or
// of another client, has none.
func (s *PermitSemaphore) IDs(l *Lease) []PermitID {
	if !(*leases.Lease)(l).Target().Is(s.base.ID()) {
		return nil
	}
	owner := l.Owner()
	ids := make([]PermitID, len(owner)/idSize)
	for i := range ids {
		copy(ids[i][:], owner[i*idSize:])
	}
	return ids
}

// newPermits returns the owner of n new permits: the sequence of their ids.
func newPermits(n int) string {
	ids := make([]byte, n*idSize)
	_, _ = rand.Read(ids) // It never fails.
	return string(ids)
}

// ownerOf returns the owner of some permits.
func ownerOf(ids []PermitID) (owner string, err error) {
	if err := within("ids", len(ids), 1, maxIDs); err != nil {
		return "", err
	}
	bytes, seen := make([]byte, 0, len(ids)*idSize), make(map[PermitID]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			return "", &FieldError{Field: "ids", Problem: "has " + id.String() + " twice"}
		}
		seen[id] = true
		bytes = append(bytes, id[:]...)
	}
	return string(bytes), nil
}

// held makes a call that returns [ErrNotHeld] if run reports false.
func (s *PermitSemaphore) held(ctx context.Context, operation string, invalid error, run func() (bool, error)) error {
	if s.invalid != nil {
		invalid = s.invalid
	}
	_, err := extend.Call(ctx, &s.base, invalid, operation, func() (bool, error) {
		held, err := run()
		if err == nil && !held {
			err = fmt.Errorf("%w: the id is unknown, or its lease has ended", ErrNotHeld)
		}
		return held, err
	})
	return err
}

// leasablePermits is a permit semaphore, for the leases of its permits' owners.
type leasablePermits PermitSemaphore

func (s *leasablePermits) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	result, err := script.PermitAcquire(ctx, r, script.PermitAcquireParams{
		Permits: s.base.Key(), Leases: s.beside[0], Twin: s.twin, Owner: owner, Lease: lease, Total: s.total,
		Publish: s.publish(), Released: s.channel, Asks: s.base.AsksRights(),
	})
	if result.OtherOK {
		(*PermitSemaphore)(s).reportMismatch(result.Other)
	}
	err = (*PermitSemaphore)(s).explain(err, len(owner)/idSize)
	return 0, extend.Answer{
		Granted: result.Taken, Free: int(max(result.Left, 0)), RetryIn: result.Wait,
	}, err
}

func (s *leasablePermits) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	return script.PermitRelease(ctx, r,
		s.base.Key(), s.beside[0], owner, false, s.publish(), s.channel)
}

// permitScripts renew and release permits of many semaphores of a client.
var permitScripts = &leaseScripts{
	objects: "permits", channel: sideNames(semaphoreChannel), renewed: withLeases, freed: withLeases,
	renew: renewing(script.PermitRenew, onlyStatuses), release: publishing(script.PermitReleaseAll),
}

func withLeases(key, _ string) []string { return []string{key, extend.Tagged(key) + permitLeasesKey} }
