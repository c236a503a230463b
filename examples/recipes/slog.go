package recipes

import (
	"context"
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Zap returns a logger for the options of a client that writes to a logger of log/slog.
func Zap(logger *slog.Logger) *zap.Logger { return zap.New(slogCore{logger.Handler()}) }

// slogCore writes entries of zap to a handler.
type slogCore struct{ to slog.Handler }

// Enabled implements [zapcore.Core].
func (c slogCore) Enabled(level zapcore.Level) bool {
	return c.to.Enabled(context.Background(), slog.Level(4*level))
}

// With implements [zapcore.Core].
func (c slogCore) With(fields []zapcore.Field) zapcore.Core {
	return slogCore{c.to.WithAttrs(attrs(fields))}
}

// Check implements [zapcore.Core].
func (c slogCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return checked.AddCore(e, c)
	}
	return checked
}

// Write implements [zapcore.Core].
func (c slogCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	r := slog.NewRecord(e.Time, slog.Level(4*e.Level), e.Message, 0)
	r.AddAttrs(attrs(fields)...)
	return c.to.Handle(context.Background(), r)
}

// Sync implements [zapcore.Core].
func (slogCore) Sync() error { return nil }

// attrs returns fields of zap as attributes.
func attrs(fields []zapcore.Field) (all []slog.Attr) {
	for _, field := range fields {
		values := zapcore.NewMapObjectEncoder()
		field.AddTo(values)
		for key, value := range values.Fields {
			all = append(all, slog.Any(key, value))
		}
	}
	return all
}
