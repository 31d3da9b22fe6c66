/* contact.h - how a person wants to be told (N1): a mail address, devices, a language, channels.
 *
 *   (1) A contact is replaced as a whole; the same one again changes nothing.
 *   (2) A device belongs to the user who named it last, and to nobody else.
 *   (3) A person who is forgotten leaves no address behind, and what waits for him is not sent. His
 *       contact and his devices go at once; the targets of what was sent go LIMIT_STATEMENT_ROWS at
 *       a time, the newest first and those at once, the others by a job. What comes after him,
 *       should he come back, stays.
 */
#pragma once

#include "queue/runtime.h"

enum channel { CHANNEL_MAIL, CHANNEL_PUSH, CHANNEL_WEBHOOK, CHANNELS };

#define CHANNEL_BIT(c) (1u << (c))
enum { CHANNELS_TEXT = 32 };

const char *channel_name(enum channel c); /* "mail" ... */
bool channel_parse(struct str name, enum channel *ret_channel);
/* A list with commas between its names, as it is stored; what is not known is left out. */
unsigned channels_of(struct str list);
struct str channels_text(unsigned channels, char text[CHANNELS_TEXT]);

struct contact {
    struct uuid user;
    struct str email;    /* empty: none */
    struct str language; /* "ja", "en"; empty: the server's */
    unsigned channels;   /* CHANNEL_BIT()s */
    struct str *tokens;  /* of devices, sorted, each once; LIMIT_DEVICES at most */
    size_t token_count;
    int64_t created_ms, updated_ms;
};

/* Texts go to the arena. NOT_FOUND. */
enum err contact_read(struct tx *tx, struct arena *a, struct uuid user, struct contact *ret);

/* What a put came to. changed: the names of what is another now, "email, channels", and never what
 * they became: it goes to the audit, where nothing can be forgotten. Empty: nothing is. */
enum { CONTACT_CHANGED = 48 };
struct contact_put {
    bool is_new;
    char changed[CONTACT_CHANGED];
};
/* Stores all of it but its times, which are set to what they are now. */
enum err contact_put(struct tx *tx, struct arena *a, struct contact *c, int64_t now_ms,
                     struct contact_put *ret_put);

struct contact_forget {
    struct uuid user, by;
    struct uuid job; /* made before the unit: the message that goes on, where there is more */
};
/* Address, devices, and the targets of whatever was sent; also of who has no contact. */
enum err contact_forget(struct tx *tx, struct queue *q, const struct contact_forget *f,
                        int64_t now_ms);
struct job_kind contact_forget_kind(void); /* "contact.forget" */

/* As the API shows it. in_full false: of a device's token only its beginning. .p NULL: no memory.
 */
struct str contact_json(struct arena *a, const struct contact *c, bool in_full);

/* "t***@example.com", "fcm1***": enough to know it by. Nothing of it where it was forgotten. */
enum { MASKED_MAX = 300 };
struct str target_masked(struct str channel, struct str target, char text[MASKED_MAX]);
