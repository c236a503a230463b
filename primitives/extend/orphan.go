package extend

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/internal/orphan"
)

// releaseInBackground releases a possible hold of h's owner on the server. acquireDone is as for
// [orphan.Orphan].
func (h *hold) releaseInBackground(acquireDone bool) {
	h.leaveLine()
	if h.object.core.work.EnterUnlessIdle() {
		h.object.core.orphans.Add(&orphan.Orphan{
			Object: h.object.id.Object, Key: h.Key, Owner: h.Owner, Kind: h.source.config.Kind, Hold: (*orphaned)(h),
			AcquireDone: acquireDone,
		})
	}
}

// orphaned is a hold that is released in the background.
type orphaned hold

// ReleaseAlone implements [orphan.Hold].
func (o *orphaned) ReleaseAlone(ctx context.Context, r backend.ScriptRunner) (Status, error) {
	released, err := o.leasable.Release(ctx, r, o.Owner)
	switch {
	case released, endedHold(err):
		return batch.Done, nil
	case err == nil || otherKind(err):
		return batch.NotHeld, nil
	}
	return batch.Failed, err
}

// MayLast implements [orphan.Hold].
func (o *orphaned) MayLast() time.Duration {
	return max(o.object.core.keeper.MayLast(&o.Entry), o.source.config.QueueTTL)
}

// HandleEnd implements [orphan.Hold]. Without an error, the owner was released, or the server has answered
// that it holds nothing: no late grant has come.
func (o *orphaned) HandleEnd(err error) {
	defer o.object.core.work.Leave()
	if err != nil {
		o.object.Logger().Warn("gave up releasing", zap.Error(err))
	}
}
