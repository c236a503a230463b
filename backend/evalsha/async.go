package evalsha

import "context"

// Catch calls do, and returns what it returned or its panic. Adapters use it where they call a
// driver, and with it hooks of the application, in a goroutine that is not the caller's: there a
// panic would end the process.
func Catch[T any](do func() T) (r Result[T]) {
	defer func() {
		if !r.returned {
			r.panicked = recover()
		}
	}()
	r.value = do()
	r.returned = true
	return r
}

// Result is what a function returned, or the panic that it ended with.
type Result[T any] struct {
	value    T
	returned bool
	panicked any
}

// Get returns what the function returned, or panics with the value that it panicked with. The
// caller who waits for the result calls it. If none waits any more, a panic is lost like the
// result: an adapter has nobody else to hand it to.
func (r Result[T]) Get() T {
	if !r.returned {
		panic(r.panicked)
	}
	return r.value
}

// Async calls do in a goroutine of its own, and returns a channel that yields the result once.
func Async[T any](do func() T) <-chan Result[T] {
	done := make(chan Result[T], 1)
	go func() { done <- Catch(do) }()
	return done
}

// Promptly returns what do returns, or false as soon as ctx ends; do then goes on by itself. It is
// for drivers that wait for connections and replies without regard to ctx (R7). A panic of do is
// raised in the caller, as [Result.Get] describes.
func Promptly[T any](ctx context.Context, do func() T) (result T, ok bool) {
	if ctx.Done() == nil {
		return do(), true
	}
	done := Async(do)
	select {
	case r := <-done:
		return r.Get(), true
	case <-ctx.Done():
	}
	select {
	case r := <-done: // it came in the same instant
		return r.Get(), true
	default:
		return result, false
	}
}

// Together calls do with 0 to n-1, side by side, and returns when all calls have returned. A panic of
// one of them is raised in the caller then.
func Together(n int, do func(int)) {
	if n == 1 {
		do(0)
		return
	}
	calls := make([]<-chan Result[struct{}], n)
	for i := range n {
		calls[i] = Async(func() struct{} { do(i); return struct{}{} })
	}
	ended := make([]Result[struct{}], n)
	for i, call := range calls {
		ended[i] = <-call
	}
	for _, result := range ended {
		result.Get()
	}
}
