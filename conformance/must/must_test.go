package must_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/must"
)

func TestCatch(t *testing.T) {
	t.Parallel()
	require.NoError(t, must.Catch(func() {
		require.Equal(t, 7, must.Get(7, nil))
		must.Wrap(errors.Join(io.EOF, io.ErrNoProgress), io.EOF, io.ErrNoProgress)
		must.Return("call", 7)(7, nil)
		must.Refuse[int]("call", io.EOF)(0, io.EOF)
		must.Not(false, "nothing")
		must.Together(3, func(int) {})
	}))
	for name, f := range map[string]func(){
		"Do":          func() { must.Do(io.EOF) },
		"Get":         func() { must.Get(7, io.EOF) },
		"If":          func() { must.Not(true, "%w", io.EOF) },
		"In":          func() { must.In("here", func() { must.Do(io.EOF) }) },
		"Wrap":        func() { must.Wrap(nil, io.EOF) },
		"ReturnOther": func() { must.Return("call", 7)(8, nil) },
		"ReturnError": func() { must.Return("call", 7)(7, io.EOF) },
		"Together":    func() { must.Together(3, func(i int) { must.Not(i == 1, "one") }) },
		"Refuse":      func() { must.Refuse[int]("call", io.EOF)(7, nil) },
	} {
		went := false
		require.Error(t, must.Catch(func() { f(); went = true }), name)
		require.False(t, went, name)
	}
	require.PanicsWithValue(t, "other", func() { _ = must.Catch(func() { panic("other") }) })
	require.ErrorIs(t, <-must.Start(func() { must.Do(io.EOF) }), io.EOF)
}
