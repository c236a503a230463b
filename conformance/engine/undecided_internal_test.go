package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/history"
)

// TestUndecidedHistories: only a soak goes on after an undecided history, and counts it; a violation ends it.
func TestUndecidedHistories(t *testing.T) {
	t.Parallel()
	undecided := fmt.Errorf("%w: 9 operations", history.ErrUndecided)
	violation := &history.Violation{}
	var reached Coverage
	property := &runner{reached: &reached}
	soak := &runner{reached: &reached, soaks: true}
	require.Equal(t, undecided, property.judge(undecided))
	require.Empty(t, reached.copy())
	require.NoError(t, soak.judge(undecided))
	require.NoError(t, soak.judge(nil))
	require.Equal(t, error(violation), soak.judge(violation))
	require.Equal(t, map[string]int{undecidedHistories: 1, checkedHistories: 1}, reached.copy())
}

// TestSoakThatProvesTooLittle: a soak fails of more than one undecided history for 50 that were checked, and if none
// was checked.
func TestSoakThatProvesTooLittle(t *testing.T) {
	t.Parallel()
	require.NoError(t, tooFewDecided(map[string]int{checkedHistories: 49}))
	require.NoError(t, tooFewDecided(map[string]int{checkedHistories: 50, undecidedHistories: 1}))
	require.ErrorIs(t, tooFewDecided(nil), errNothingChecked)
	err := tooFewDecided(map[string]int{checkedHistories: 49, undecidedHistories: 1})
	require.ErrorIs(t, err, history.ErrUndecided)
	require.EqualError(t, err, "undecided history: 1, beside 49 that were checked")
}
