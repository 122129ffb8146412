/*
 * Words of /dev/ktest that only the debug build has (check_words.c): each makes
 * a check fail.
 */
#ifndef KERNEL_CHECK_WORDS_H
#define KERNEL_CHECK_WORDS_H

#ifdef CHECKS

int check_word(char **argv);
#define CHECK_WORD(word)                        \
	{                                       \
		.name = word, .run = check_word \
	}
#define CHECK_WORDS                                                     \
	CHECK_WORD("lockorder"), CHECK_WORD("locklevel"),               \
	    CHECK_WORD("locktwice"), CHECK_WORD("mutexunderspin"),      \
	    CHECK_WORD("spinnotheld"), CHECK_WORD("mutexnotheld"),      \
	    CHECK_WORD("useafterfree"), CHECK_WORD("useafterpagefree"), \
	    CHECK_WORD("notzero"), CHECK_WORD("overrun"),               \
	    CHECK_WORD("returnlocked"), CHECK_WORD("samplerlock"),      \
	    CHECK_WORD("samplerprint"), CHECK_WORD("sampleruser"),      \
	    CHECK_WORD("overflow-int"), CHECK_WORD("overflow-index"),   \
	{                                                               \
		0                                                       \
	}

#else

#define CHECK_WORDS \
	{           \
		0   \
	}

#endif
#endif
