package text

import (
	"strconv"
)

// Texts of the pages about endpoints, for administrators.
const (
	Notifications      = "Notifications"
	NotificationsMean  = "mishap tells other programs about events: new problems, regressions and whatever the rules say. "
	NotificationsLimit = "An endpoint that fails is tried again for three days; then it is switched off, " +
		"and its owner is told."

	StoppedAll   = "All notifications are stopped."
	StoppedMeans = "mishap sends no mail, webhooks or messages. It still stores events, and sends them " +
		"when you resume."
	StoppedBefore = "Stopped by"
	Resume        = "Resume notifications"
	Resumed       = "Notifications are sent again."
	StopHeading   = "Stop all notifications"
	StopMeans     = "For an emergency: mishap then sends nothing to anyone, by mail or otherwise. Events are " +
		"stored and sent later."
	StopButton        = "Stop all notifications"
	EndpointsHeading  = "Endpoints"
	EndpointsNone     = "There is no endpoint yet. Add one to hear of events in a chat or in another program."
	EndpointAdd       = "Add an endpoint:"
	EndpointName      = "Name"
	EndpointKind      = "Kind"
	EndpointHost      = "Host"
	EndpointOwner     = "Owner"
	EndpointState     = "State"
	EndpointLastReply = "Last reply"
	EndpointFailures  = "Failures"
	EndpointWaiting   = "Waiting"
	EndpointAllAdmins = "all administrators"
	EndpointNoReply   = "none yet"
	EndpointNoAnswer  = "no answer"

	EndpointOn      = "on"
	EndpointFailing = "failing"
	EndpointOff     = "off"

	KindWebhook    = "Webhook"
	KindSlack      = "Slack"
	KindMattermost = "Mattermost"
	KindMatrix     = "Matrix"

	HelpWebhook = "A program of your own gets each event as JSON, signed as Standard Webhooks describes. mishap " +
		"shows the secret once, after you have added the endpoint."
	HelpSlack = "In Slack, create an app with “Incoming Webhooks” and add a webhook to a channel. Its address is " +
		"a secret."
	HelpMattermost = "In Mattermost, open Integrations, Incoming Webhooks, and add one. Its address is a secret."
	HelpMatrix     = "Create an account for mishap on a homeserver and invite it to an unencrypted room. mishap " +
		"needs an access token of that account, and does not join the room by itself."

	FieldName            = "Name"
	FieldNameHint        = "The name in this list and in rules."
	FieldAddress         = "Address"
	FieldAddressKeep     = "It is stored encrypted and is not shown. Leave this empty to keep it."
	FieldAddressHint     = "It is stored encrypted, and pages show only its host."
	FieldAddressPrivate  = "Private networks are refused unless webhook_allow_networks in the configuration permits them."
	FieldHomeserver      = "Address of the homeserver"
	FieldRoom            = "Room id"
	FieldRoomHint        = "In Element: Room settings, Advanced. It begins with an exclamation mark."
	FieldChannel         = "Channel (optional)"
	FieldChannelHint     = "The name in the address of the channel. Empty: the channel of the webhook."
	FieldToken           = "Access token"
	FieldTokenHint       = "It is stored encrypted and is not shown."
	FieldTokenKeep       = "Leave this empty to keep the current one."
	FieldOwner           = "Owner"
	FieldOwnerHint       = "The owner is told if the endpoint is switched off because deliveries fail."
	FieldPerMinute       = "Requests per minute"
	FieldPerMinuteHint   = "If there are more events, one summary a minute later replaces the rest."
	EndpointAddButton    = "Add endpoint"
	EndpointSave         = "Save settings"
	EndpointSettings     = "Settings"
	EndpointNoSuchOwner  = "Choose an administrator."
	EndpointSaved        = "Settings saved."
	EndpointDelete       = "Delete this endpoint"
	EndpointDeleteMore   = "Delete…"
	EndpointDeleteMeans  = "Its deliveries are deleted, too, and rules no longer send to it. This cannot be undone."
	EndpointEnable       = "Switch on"
	EndpointDisable      = "Switch off"
	EndpointEnabled      = "Switched on. Deliveries that have been waiting are sent now."
	EndpointDisabledDone = "Switched off. Deliveries wait, and new events are not delivered to it."
	EndpointTest         = "Send a test"
	EndpointTestHint     = "Sends one event of the type “test” now and shows the answer."
	EndpointTestStopped  = "All notifications are stopped. An endpoint can be tested once they are resumed."
	EndpointRotate       = "Rotate the secret…"
	EndpointRotateMeans  = "mishap makes a new secret and shows it once. For 24 hours it signs with both."
	EndpointRotateButton = "Make a new secret"
	SecretShown          = "The secret. Copy it now: mishap does not show it again."
	SecretHint           = "The receiver checks signatures with it; see docs/webhooks.md. Keep it like a password."

	TestWorked        = "The test was accepted."
	TestFailed        = "The test failed."
	EndpointSuccess   = "Last success"
	EndpointFailure   = "Last failure"
	EndpointAnswer    = "Its answer"
	EndpointPause     = "Next attempt"
	EndpointLimit     = "Limit"
	EndpointPrevious  = "Previous secret"
	EndpointNever     = "never"
	EndpointWhatFails = "Failed attempts"

	Deliveries          = "Deliveries"
	DeliveriesNone      = "Nothing has been delivered yet. Rules decide which events go to this endpoint."
	DeliveriesNoneState = "No delivery is in this state."
	DeliveriesAll       = "all"
	DeliveriesOlder     = "Older"
	DeliveriesNewest    = "Newest"
	DeliveryEvent       = "Event"
	DeliveryType        = "Type"
	DeliveryWhen        = "Stored"
	DeliveryState       = "State"
	DeliveryAttempts    = "Failed attempts"
	DeliveryID          = "Id"
	DeliveryDue         = "Next attempt"
	DeliveryAgain       = "Send again"
	DeliveryAgainHint   = "It has the same id and payload, so that a receiver can tell that it has it already."
	DeliveryAgainDone   = "It is sent again now. Reload this page to see the answer."
	DeliveryPayload     = "Payload"
	DeliveryNoPayload   = "It is made at the first attempt."
	DeliveryLog         = "Attempts"
	DeliveryNoAttempts  = "No attempt yet."
	DeliveryMentions    = "Deliveries that this summary mentions"
	DeliveryMentionedIn = "Mentioned in a summary"
	AttemptStarted      = "Started"
	AttemptStatus       = "Status"
	AttemptTook         = "Duration"
	AttemptOutcome      = "Outcome"
	AttemptAnswer       = "Answer"
	AttemptAccepted     = "accepted"
	AttemptRunning      = "in progress"

	DeliveryWaiting    = "waiting"
	DeliveryDelivered  = "delivered"
	DeliveryFailed     = "failed"
	DeliverySummarised = "summarised"

	DeliveryWaitingMeans    = "it has not been accepted yet"
	DeliveryDeliveredMeans  = "the endpoint accepted it"
	DeliveryFailedMeans     = "the endpoint refused it for good, or all attempts failed"
	DeliverySummarisedMeans = "the limit held it back, and a summary mentions it"
)

// EndpointTitle returns the title of the page that adds an endpoint.
func EndpointTitle(kind string) string { return "Add an endpoint: " + kind }

// EndpointAdded says that an endpoint was added.
func EndpointAdded(name string) string {
	return "“" + name + "” was added. Send a test to see whether it works."
}

// EndpointDeleted says that an endpoint was deleted.
func EndpointDeleted(name string) string { return "“" + name + "” was deleted." }

// EndpointPerMinute returns the limit of an endpoint.
func EndpointPerMinute(n int) string {
	return Counted(int64(n), "request per minute", "requests per minute")
}

// EndpointAnswered describes an answer: "200", or that there was none.
func EndpointAnswered(status int) string {
	if status == 0 {
		return EndpointNoAnswer
	}
	return strconv.Itoa(status)
}

// PreviousSecret says until when the previous secret signs.
func PreviousSecret(until string) string { return "signs, too, until " + until }

// FailedSince returns the number of failed attempts since the last success.
func FailedSince(n int) string {
	return Counted(int64(n), "attempt", "attempts") + " since the last success"
}

// DeliverySentAgain says how often a person has sent a delivery again.
func DeliverySentAgain(n int) string {
	return "sent again by a person " + Counted(int64(n), "time", "times")
}
