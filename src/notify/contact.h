/* contact.h - how a person wants to be notified (N1): a mail address, devices, a language,
 * channels.
 *
 *   (1) A contact is replaced as a whole; putting the same one again changes nothing.
 *   (2) A device belongs to the user who registered it last, and to no other.
 *   (3) Forgetting a person removes every address, and what waits for them is not sent. The
 *       contact, its devices and the newest LIMIT_STATEMENT_ROWS targets of sends go in the same
 *       commit; a job removes the older targets. A contact that is stored later is not touched. */
#pragma once

#include "queue/runtime.h"

enum channel { CHANNEL_MAIL, CHANNEL_PUSH, CHANNEL_WEBHOOK, CHANNELS };

#define CHANNEL_BIT(c) (1u << (c))
enum { CHANNELS_TEXT = 32 };

const char *channel_name(enum channel c); /* "mail" ... */
bool channel_parse(struct str name, enum channel *ret_channel);
/* A stored list of names with commas between them; unknown names are ignored. */
unsigned channels_of(struct str list);
struct str channels_text(unsigned channels, char text[CHANNELS_TEXT]);

struct contact {
    struct uuid user;
    struct str email;    /* empty: none */
    struct str language; /* "ja", "en"; empty: the server's */
    unsigned channels;   /* CHANNEL_BIT()s */
    struct str *tokens;  /* of devices, sorted, without duplicates; LIMIT_DEVICES at most */
    size_t token_count;
    int64_t created_ms, updated_ms;
};

/* Texts go to the arena. NOT_FOUND. */
enum err contact_read(struct tx *tx, struct arena *a, struct uuid user, struct contact *ret);

/* The result of contact_put(). changed: the names of the fields that changed, as "email, channels";
 * empty if none did. It holds no values, because it goes to the audit log, which is never
 * erased. */
enum { CONTACT_CHANGED = 48 };
struct contact_put {
    bool is_new;
    char changed[CONTACT_CHANGED];
};
/* Stores all but the times; sets c's times to the stored ones. */
enum err contact_put(struct tx *tx, struct arena *a, struct contact *c, int64_t now_ms,
                     struct contact_put *ret_put);

struct contact_forget {
    struct uuid user, by;
    struct uuid job; /* made before the unit: the id of the job that removes the older targets */
};
/* Removes the contact, the devices and the targets of sends; the last also without a contact. */
enum err contact_forget(struct tx *tx, struct queue *q, const struct contact_forget *f,
                        int64_t now_ms);
struct job_kind contact_forget_kind(void); /* "contact.forget" */

/* As the API shows it; without in_full, device tokens are masked. .p NULL: no memory. */
struct str contact_json(struct arena *a, const struct contact *c, bool in_full);

/* "t***@example.com", "fcm1***": enough to recognize it. Empty where the person was forgotten. */
enum { MASKED_MAX = 300 };
struct str target_masked(struct str channel, struct str target, char text[MASKED_MAX]);
