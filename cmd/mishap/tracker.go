package main

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/tracker"
)

// tracker is the part of the configuration that concerns the bug tracker. A registerer of nil means no metrics.
func (c *Config) tracker(log *slog.Logger, metrics prometheus.Registerer) tracker.Config {
	return tracker.Config{
		URL:         c.TrackerURL,
		APIURL:      c.TrackerAPIURL,
		ConsumerKey: c.TrackerConsumerKey,
		Target:      c.TrackerTarget,
		BaseURL:     c.BaseURL,
		Version:     versionText(),
		Token:       crash.AccessToken{Token: string(c.TrackerOAuthToken), Secret: c.TrackerOAuthSecret},
		Timeout:     time.Duration(c.TrackerTimeout) * time.Second,
		Settle:      max(time.Duration(c.TrackerSettle)*time.Second, 1), // 0 would mean the default there
		Log:         log,
		Now:         time.Now,
		Registerer:  metrics,
	}
}
