package traces

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
)

// Check sends an empty message to the collector, with the same headers and certificates as spans. The
// error says why the collector does not accept it.
func Check(ctx context.Context, address string) error {
	client := otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(address),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err := client.Start(ctx); err != nil {
		return err
	}
	defer client.Stop(ctx) //nolint:errcheck // nothing waits
	if err := client.UploadTraces(ctx, nil); err != nil {
		return errors.New(explain(err))
	}
	return nil
}
