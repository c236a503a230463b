package primitives

import (
	"context"
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/adders"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// adderMember is an adder, as its group sees it.
type adderMember adder

func (m *adderMember) Count() adders.Count {
	return adders.Count{Long: m.long.Load(), Double: math.Float64frombits(m.doubles.Load())}
}

func (m *adderMember) Forget() {
	m.long.Store(0)
	m.doubles.Store(0)
}

func (m *adderMember) Answers() int { return len(m.begins) }

// Answer implements [adders.Member]. Under a KeyPrefix it answers a request of Redisson's at both pairs of
// keys, since the asking process may read either.
func (m *adderMember) Answer(answer adders.Answer) {
	begins, ttl := m.begins, adderKeyTTL
	switch {
	case adders.Ours(answer.ID):
		begins = begins[:1]
	case len(begins) > 1:
		ttl = mappedKeyTTL
	}
	for _, begin := range begins {
		(*adder)(m).answerAt(begin, answer, ttl)
	}
}

// answerAt sends an answer to the keys with the given beginning, in the background. The answer is
// executed at most once.
func (a *adder) answerAt(begin string, answer adders.Answer, ttl time.Duration) {
	counter, semaphore := keysOf(begin, answer.ID)
	params := script.AdderAnswerParams{
		Counter: counter, Semaphore: semaphore, TTL: ttl,
		Publish: a.publish(), Answered: answersChannel(semaphore), Topic: a.topics.Now,
	}
	if adders.Ours(answer.ID) {
		params.Elsewhere = adders.Elsewhere + ":" + answer.ID + ":" + answer.Name
	}
	switch sum := answer.Sum; {
	case sum != nil && a.double:
		params.Double = &sum.Double
	case sum != nil:
		params.Long = &sum.Long
	}
	a.base.Go(func(ctx context.Context, r backend.ScriptRunner) {
		ctx, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		err := a.sendAnswer(ctx, r, params, answer)
		for pause := initialBackoff; canResend(err) && sleep(ctx, pause); pause = min(2*pause, maxBackoff) {
			err = a.sendAnswer(ctx, r, params, answer)
		}
		if err != nil {
			a.base.Logger().Warn("a request may have no answer", zap.Error(err))
		}
	})
}

// sendAnswer sends an answer once. If a request to reset may come from another logical database,
// sendAnswer first asks whether it does, and obeys it if not.
func (a *adder) sendAnswer(
	ctx context.Context, r backend.ScriptRunner, params script.AdderAnswerParams, answer adders.Answer,
) error {
	if params.Elsewhere != "" && params.Long == nil && params.Double == nil {
		here, err := script.AdderHere(ctx, r, params.Semaphore)
		if err != nil {
			return err //nolint:wrapcheck // It is logged.
		}
		if here {
			answer.Group.Obey(answer.Reset)
		}
	}
	_, err := script.AdderAnswer(ctx, r, params)
	return err //nolint:wrapcheck // It is logged.
}
